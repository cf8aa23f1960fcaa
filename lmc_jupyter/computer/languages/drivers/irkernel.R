# What IRkernel is told once, before its first block, so that output comes while code runs.
# One rule: what prints does all that it did, and then hands over what there is; no name is made
# or taken in the person's environment.
#
# By itself IRkernel shows what was printed when the expression at the top has ended, which of a
# loop is the end of the block, and loses it at an interrupt; `flush.console()` shows it at once.
# So what everything is printed by calls it behind itself: these functions keep their arguments,
# their place and their name in errors, and have one line more.
(function() {
  if (!all(c("IRkernel", "evaluate") %in% loadedNamespaces())) return(invisible()) # another kernel

  # Each time is a message: 20 in a second, after as many at once. A loop that prints without end
  # loses no time by it; what is left comes with the next one, at the latest at the end.
  most <- 20
  credit <- most
  last <- proc.time()[["elapsed"]]
  busy <- FALSE
  whole <- if (exists("suspendInterrupts", baseenv())) suspendInterrupts else identity

  flush <- function(due = TRUE) {
    # Inside `capture.output` and `sink` nothing is to be shown.
    if (busy || sink.number() != 1L) return(invisible())
    now <- proc.time()[["elapsed"]]
    credit <<- min(most, credit + (now - last) * most)
    last <<- now
    if (!due && credit < 1) return(invisible())
    credit <<- max(0, credit - 1)
    busy <<- TRUE
    on.exit(busy <<- FALSE)
    # A message that an interrupt cuts in two would be the last that anybody understands. What goes
    # wrong here goes wrong again at the end of the expression, and is told there.
    tryCatch(whole(evaluate::flush_console()), error = function(error) NULL)
    invisible()
  }

  put <- function(name, value, place) {
    locked <- bindingIsLocked(name, place)
    if (locked) unlockBinding(name, place)
    assign(name, value, envir = place)
    if (locked) lockBinding(name, place)
  }
  shows <- function() flush(due = FALSE)
  waits <- function() flush()
  behind <- bquote(on.exit(.(shows)()))
  before <- bquote(.(waits)())
  change <- function(name, line) {
    it <- get(name, baseenv())
    body(it) <- call("{", line, body(it))
    put(name, it, baseenv())
  }
  # `print` itself finds methods by its body, which stays; nearly all of them end in these.
  for (name in c("cat", "print.default", "writeLines")) change(name, behind)
  for (name in c("Sys.sleep", "system")) change(name, before)

  # At an interrupt, while there still is what was printed.
  place <- parent.env(asNamespace("IRkernel"))
  plain <- get("evaluate", place)
  put("evaluate", function(...) {
    withCallingHandlers(plain(...), interrupt = function(condition) flush())
  }, place)
  invisible()
})()
