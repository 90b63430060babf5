! SPDX-License-Identifier: Apache-2.0
!
! ompass.f90: the marks of ompass.h for Fortran: kernels, the data that they touch, phases. Compile it with the program;
! it needs no library. The first mark searches for libompass.so; without it, a mark is a call and a branch.
! ompass.h explains the marks and their rules.
!
!   use ompass
!   call ompass_kernel_begin('matmul')            ! trailing blanks of a name are ignored
!   call ompass_read(a, 8 * size(a))              ! the innermost open kernel reads 8 * size(a) bytes from a(1, 1) on
!   call ompass_write(c(1, j), 8 * n)             ! ... and writes a column
!   call ompass_kernel_end()
!   call ompass_phase('assembly')                 ! begins a phase of the run; '' ends it
!
! Data may have any type and rank, but must be contiguous: for a section, pass the first element, because the compiler
! may pass the address of a copy. ompass_read_at(address, bytes) and ompass_write_at(address, bytes) take a type(c_ptr).
! Bytes are of default or 64-bit integer kind. Any thread may call the marks.
!
! Fortran 2008 with the assumed type of TS 29113. Two directives allow any rank in gfortran and flang (flang 19 lacks
! assumed rank).
module ompass
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_f_procpointer, c_associated, c_funptr, c_int, c_intptr_t, &
       c_loc, c_null_char, c_null_ptr, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: int32, int64
  implicit none
  private

  public :: ompass_kernel_begin, ompass_kernel_end, ompass_read, ompass_write, ompass_read_at, ompass_write_at, ompass_phase

  !> Declares that the innermost open kernel reads `bytes` bytes from the first element of `data` on.
  interface ompass_read
    module procedure read_int32, read_int64
  end interface

  !> Declares that the innermost open kernel writes `bytes` bytes from the first element of `data` on.
  interface ompass_write
    module procedure write_int32, write_int64
  end interface

  !> Declares that the innermost open kernel reads `bytes` bytes at a type(c_ptr).
  interface ompass_read_at
    module procedure read_at_int32, read_at_int64
  end interface

  !> Declares that the innermost open kernel writes `bytes` bytes at a type(c_ptr).
  interface ompass_write_at
    module procedure write_at_int32, write_at_int64
  end interface

  !> struct ompass_api of ompass.h.
  type, bind(c) :: api_table
    integer(c_int) :: version
    type(c_funptr) :: kernel_begin, kernel_end, read, write, phase
  end type

  integer(c_int), parameter :: api_version = 1
  integer(c_intptr_t), parameter :: not_looked_for = 0, no_tool = -1

  ! not_looked_for, no_tool, or the address of the api_table. Written by the first call (racing threads write the same
  ! value), read by all threads. Volatile, so every read and write is one access to memory.
  integer(c_intptr_t), volatile, save :: state = not_looked_for

  abstract interface
    function get_api_function(version) bind(c) result(table)
      import :: c_int, c_ptr
      integer(c_int), value :: version
      type(c_ptr) :: table
    end function
    subroutine name_mark(name) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine plain_mark() bind(c)
    end subroutine
    subroutine access_mark(address, bytes) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
    end subroutine
  end interface

  interface
    function c_dlopen(path, flags) bind(c, name='dlopen') result(library)
      import :: c_char, c_int, c_ptr
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: flags
      type(c_ptr) :: library
    end function
    function c_dlsym(library, name) bind(c, name='dlsym') result(symbol)
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: symbol
    end function
  end interface

contains

  !> Begins a kernel on the calling thread. `name`: not blank, copied.
  recursive subroutine ompass_kernel_begin(name)
    character(len=*), intent(in) :: name
    type(api_table), pointer :: table
    procedure(name_mark), pointer :: mark
    if (.not. find_table(table)) return
    call c_f_procpointer(table%kernel_begin, mark)
    call mark(trim(name) // c_null_char)
  end subroutine

  !> Ends the innermost open kernel of the calling thread.
  recursive subroutine ompass_kernel_end()
    type(api_table), pointer :: table
    procedure(plain_mark), pointer :: mark
    if (.not. find_table(table)) return
    call c_f_procpointer(table%kernel_end, mark)
    call mark()
  end subroutine

  !> Begins a phase of the run, and ends the previous one that this thread marked. Mark all phases on one thread,
  !> usually the initial one. A blank name only ends the phase.
  recursive subroutine ompass_phase(name)
    character(len=*), intent(in) :: name
    type(api_table), pointer :: table
    procedure(name_mark), pointer :: mark
    if (.not. find_table(table)) return
    call c_f_procpointer(table%phase, mark)
    call mark(trim(name) // c_null_char)
  end subroutine

  recursive subroutine read_int32(data, bytes)
    type(*), intent(in), target :: data
    !GCC$ attributes no_arg_check :: data
    !dir$ ignore_tkr data
    integer(int32), intent(in) :: bytes
    if (state /= no_tool) call read_at_int64(c_loc(data), int(bytes, int64))
  end subroutine

  recursive subroutine read_int64(data, bytes)
    type(*), intent(in), target :: data
    !GCC$ attributes no_arg_check :: data
    !dir$ ignore_tkr data
    integer(int64), intent(in) :: bytes
    if (state /= no_tool) call read_at_int64(c_loc(data), bytes)
  end subroutine

  recursive subroutine write_int32(data, bytes)
    type(*), intent(in), target :: data
    !GCC$ attributes no_arg_check :: data
    !dir$ ignore_tkr data
    integer(int32), intent(in) :: bytes
    if (state /= no_tool) call write_at_int64(c_loc(data), int(bytes, int64))
  end subroutine

  recursive subroutine write_int64(data, bytes)
    type(*), intent(in), target :: data
    !GCC$ attributes no_arg_check :: data
    !dir$ ignore_tkr data
    integer(int64), intent(in) :: bytes
    if (state /= no_tool) call write_at_int64(c_loc(data), bytes)
  end subroutine

  recursive subroutine read_at_int32(address, bytes)
    type(c_ptr), intent(in) :: address
    integer(int32), intent(in) :: bytes
    call read_at_int64(address, int(bytes, int64))
  end subroutine

  recursive subroutine read_at_int64(address, bytes)
    type(c_ptr), intent(in) :: address
    integer(int64), intent(in) :: bytes
    type(api_table), pointer :: table
    procedure(access_mark), pointer :: mark
    if (.not. find_table(table)) return
    call c_f_procpointer(table%read, mark)
    call mark(address, int(max(bytes, 0_int64), c_size_t))
  end subroutine

  recursive subroutine write_at_int32(address, bytes)
    type(c_ptr), intent(in) :: address
    integer(int32), intent(in) :: bytes
    call write_at_int64(address, int(bytes, int64))
  end subroutine

  recursive subroutine write_at_int64(address, bytes)
    type(c_ptr), intent(in) :: address
    integer(int64), intent(in) :: bytes
    type(api_table), pointer :: table
    procedure(access_mark), pointer :: mark
    if (.not. find_table(table)) return
    call c_f_procpointer(table%write, mark)
    call mark(address, int(max(bytes, 0_int64), c_size_t))
  end subroutine

  !> True if there is a tool; `table` then points to its functions.
  recursive logical function find_table(table) result(found)
    type(api_table), pointer, intent(out) :: table
    integer(c_intptr_t) :: seen
    nullify(table)
    seen = state
    if (seen == not_looked_for) seen = look_for_tool()
    found = seen /= no_tool
    if (found) call c_f_pointer(transfer(seen, c_null_ptr), table)
  end function

  !> Searches for the tool in the process (preloaded or linked), then in OMP_TOOL_LIBRARIES. Sets and returns `state`.
  recursive integer(c_intptr_t) function look_for_tool() result(found)
    integer(c_int), parameter :: rtld_lazy = 1
    character(len=*), parameter :: symbol_name = 'ompass_get_api' // c_null_char
    character(len=:), allocatable :: list
    procedure(get_api_function), pointer :: get_api
    type(c_funptr) :: symbol
    type(c_ptr) :: library, table
    integer :: length, first, last

    found = no_tool
    symbol = c_dlsym(c_null_ptr, symbol_name)
    if (.not. c_associated(symbol)) then
      call get_environment_variable('OMP_TOOL_LIBRARIES', length=length)
      allocate(character(len=length) :: list)
      if (length > 0) call get_environment_variable('OMP_TOOL_LIBRARIES', value=list(1:length))
      first = 1
      do while (first <= length .and. .not. c_associated(symbol))
        last = index(list(first:), ':')
        last = merge(length, first + last - 2, last == 0)
        if (index(list(first:last), 'libompass.') > 0) then
          library = c_dlopen(list(first:last) // c_null_char, rtld_lazy)
          if (c_associated(library)) symbol = c_dlsym(library, symbol_name)
        end if
        first = last + 2
      end do
    end if
    if (c_associated(symbol)) then
      call c_f_procpointer(symbol, get_api)
      table = get_api(api_version)
      if (c_associated(table)) found = transfer(table, found)
    end if
    state = found
  end function

end module ompass
