!mod$ v1 sum:13312c68c314722f
module relaxation
contains
subroutine smooth(values,weight)
real(8),intent(inout)::values(:)
real(8),intent(in)::weight
end
end
