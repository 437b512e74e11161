! SPDX-FileCopyrightText: 2026 The portops authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

! What the program below needs of portops.h: handles are addresses, booleans and sizes are 64-bit integers.
module portops
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int32_t), parameter :: portops_ok = 0

  type, bind(c) :: dl_tensor
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: device_type = 1  ! kDLCPU
    integer(c_int32_t) :: device_id = 0
    integer(c_int32_t) :: ndim = 0
    integer(c_int8_t) :: code = 2          ! kDLFloat
    integer(c_int8_t) :: bits = 32
    integer(c_int16_t) :: lanes = 1
    type(c_ptr) :: shape = c_null_ptr      ! the last extent is the one that runs fastest: the first one of Fortran
    type(c_ptr) :: strides = c_null_ptr
    integer(c_int64_t) :: byte_offset = 0
  end type dl_tensor

  type, bind(c) :: portops_operand         ! a tensor or, where it is null, a number
    type(c_ptr) :: tensor = c_null_ptr
    real(c_double) :: number = 0
  end type portops_operand

  interface
    function portops_backends(backends, room, count) bind(c) result(status)
      import :: c_int32_t, c_size_t
      integer(c_int32_t), intent(out) :: backends(*)
      integer(c_size_t), value :: room
      integer(c_size_t), intent(out) :: count
      integer(c_int32_t) :: status
    end function portops_backends

    function portops_context_create(backend, cuda_stream, ctx) bind(c) result(status)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: backend
      type(c_ptr), value :: cuda_stream
      type(c_ptr), intent(out) :: ctx
      integer(c_int32_t) :: status
    end function portops_context_create

    function portops_context_fence(ctx) bind(c) result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ctx
      integer(c_int32_t) :: status
    end function portops_context_fence

    function portops_context_destroy(ctx) bind(c) result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ctx
      integer(c_int32_t) :: status
    end function portops_context_destroy

    function portops_lerp(ctx, x, y, weight, out, options) bind(c) result(status)
      import :: c_int32_t, c_ptr, dl_tensor, portops_operand
      type(c_ptr), value :: ctx
      type(dl_tensor), intent(in) :: x, y
      type(portops_operand), value :: weight
      type(dl_tensor), intent(in) :: out
      type(c_ptr), value :: options
      integer(c_int32_t) :: status
    end function portops_lerp

    function portops_last_error() bind(c) result(message)
      import :: c_ptr
      type(c_ptr) :: message
    end function portops_last_error

    function c_strlen(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function c_strlen
  end interface

contains

  function last_error() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    type(c_ptr) :: message
    integer :: i

    message = portops_last_error()
    call c_f_pointer(message, characters, [c_strlen(message)])
    allocate (character(len=size(characters)) :: text)
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function last_error
end module portops

program lerp
  use portops
  implicit none

  real(c_float), target :: x(4) = 0, y(4) = 8, out(4)
  integer(c_int64_t), target :: shape(1) = [4_c_int64_t], short_shape(1) = [3_c_int64_t]
  integer(c_int32_t) :: backends(3)
  integer(c_size_t) :: count
  type(c_ptr) :: ctx
  type(dl_tensor) :: x_tensor, y_tensor, out_tensor

  ! A host backend of this build: the last one, as devices come first.
  call check(portops_backends(backends, 3_c_size_t, count))
  call check(portops_context_create(backends(count), c_null_ptr, ctx))

  x_tensor = dl_tensor(data=c_loc(x), ndim=1, shape=c_loc(shape))
  y_tensor = dl_tensor(data=c_loc(y), ndim=1, shape=c_loc(shape))
  out_tensor = dl_tensor(data=c_loc(out), ndim=1, shape=c_loc(shape))
  call check(portops_lerp(ctx, x_tensor, y_tensor, portops_operand(number=0.25_c_double), out_tensor, c_null_ptr))
  call check(portops_context_fence(ctx))
  print '(a, 4(1x, f0.1))', 'out =', out

  ! A wrong call changes nothing, and says what is wrong.
  out_tensor%shape = c_loc(short_shape)
  if (portops_lerp(ctx, x_tensor, y_tensor, portops_operand(number=0.25_c_double), out_tensor, c_null_ptr) &
      /= portops_ok) print '(2a)', 'refused: ', last_error()
  call check(portops_context_destroy(ctx))

contains

  subroutine check(status)
    integer(c_int32_t), intent(in) :: status

    if (status == portops_ok) return
    print '(a)', last_error()
    error stop 1
  end subroutine check
end program lerp
