# What Ruby is told before a block, so that its errors come without colours on a terminal.
# One rule: what is written stays where it was; ruby colours only on the stream that it began with.
#
# (Measured, 3.1: it asks no variable such as NO_COLOR or TERM for that.)
$stderr = $stderr.dup
$stderr.sync = true
