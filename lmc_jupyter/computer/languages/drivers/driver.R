# What runs inside R: it reads blocks, evaluates them, and says what came of them.
# One rule: R may only be interrupted while it evaluates a block, never while it reads or writes.
#
# Started with the numbers of two descriptors behind --args: orders come on the first
# ("<word> <id> <bytes>\n" and so many bytes), frames go out on the second (a line: token and
# JSON). Behind every frame a mark goes to the console, so that the reader knows which output came
# before it. The token comes with the first order; it is in no environment and no argument.
suspendInterrupts(local({
  given <- commandArgs(trailingOnly = TRUE)
  PATHS <- c(orders = paste0("/dev/fd/", given[1]), out = paste0("/dev/fd/", given[2]),
             console = "/dev/stdout")  # of our own: a sink() of the code does not reach it
  connections <- list()
  token <- ""
  frames <- 0L
  GLOBAL <- globalenv()
  MAX_LINES <- 6L

  # Writing -----------------------------------------------------------------------------------------

  # The connection of that name. closeAllConnections() of the code closes ours too, and what is
  # opened then may get the same number.
  at <- function(name) {
    there <- tryCatch(summary(connections[[name]])$description, error = function(condition) "")
    if (!identical(there, PATHS[[name]])) {
      connections[[name]] <<- file(PATHS[[name]], if (name == "orders") "rb" else "wb", raw = TRUE)
    }
    connections[[name]]
  }

  utf8 <- function(text) {
    text <- enc2utf8(as.character(text))
    iconv(text, "UTF-8", "UTF-8", sub = "byte")
  }

  quoted <- function(text) {
    text <- utf8(text)
    for (pair in list(c("\\", "\\\\"), c("\"", "\\\""), c("\n", "\\n"), c("\t", "\\t"), c("\r", "\\r"))) {
      text <- gsub(pair[1], pair[2], text, fixed = TRUE, useBytes = TRUE)
    }
    paste0("\"", gsub("[\x01-\x1f]", "?", text, useBytes = TRUE), "\"")
  }

  json <- function(value) {
    if (is.list(value)) {
      inner <- vapply(value, json, "")
      paste0("{", paste0("\"", names(value), "\":", inner, collapse = ","), "}")
    } else if (is.character(value)) {
      quoted(paste(value, collapse = "\n"))
    } else {
      format(value, scientific = FALSE)
    }
  }

  write <- function(text, name) {
    to <- at(name)
    writeChar(text, to, eos = NULL, useBytes = TRUE)
    flush(to)
  }

  frame <- function(...) {
    frames <<- frames + 1L
    write(paste0("\n", token, json(list(..., n = frames)), "\n"), "out")
    flush(stdout())
    write(paste0("\x1e", token, ":", frames, "\x1e"), "console")
  }

  say <- function(...) cat(..., sep = "", file = stderr())

  # What is shown -----------------------------------------------------------------------------------

  folder <- tempfile("lmc")
  dir.create(folder)
  devices <- integer()  # ours, of those that are open
  drawn <- 0L

  device <- function(...) {
    drawn <<- drawn + 1L
    dir.create(folder, showWarnings = FALSE, recursive = TRUE)  # the code may have removed it
    file <- file.path(folder, sprintf("%06d-%%03d.png", drawn))  # a file for each page
    type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
    grDevices::png(file, width = getOption("repr.plot.width", 7), height = getOption("repr.plot.height", 5),
      units = "in", res = 100, type = type)
    devices <<- c(devices, grDevices::dev.cur())
  }

  pages <- function(all) {
    if (all) {
      for (it in intersect(devices, grDevices::dev.list())) grDevices::dev.off(it)
      devices <<- integer()
    }
    files <- sort(list.files(folder, pattern = "[.]png$", full.names = TRUE))
    if (!all) files <- utils::head(files, -1L)  # of the last one more may be drawn
    for (file in files) {
      if (file.size(file) > 0) {
        sent <- sub("[.]png$", ".sent", file)
        file.rename(file, sent)
        frame(t = "image", mime = "image/png", path = sent)
      }
    }
  }

  viewer <- function(url, ...) {
    path <- sub("^file://", "", url)
    if (file.exists(path)) frame(t = "page", path = normalizePath(path)) else say(url, "\n")
    invisible()
  }

  display_html <- function(text) {
    frame(t = "display", data = list("text/html" = paste(text, collapse = "\n")))
    invisible()
  }

  options(
    device = device, viewer = viewer, browser = viewer, warn = 1, width = 100, error = NULL,
    menu.graphics = FALSE, crayon.enabled = FALSE, cli.num_colors = 1L, useFancyQuotes = FALSE,
    pager = function(files, header, title, delete.file) {
      for (file in files) cat(readLines(file), sep = "\n")
      if (isTRUE(delete.file)) unlink(files)
    }
  )

  # While R waits for a program it is deaf to interrupts, and goes on as soon as that has been
  # ended: so it looks for a file, which whoever stops the block has put there before.
  block <- 0L
  unless_stopped <- function() {
    if (file.exists(file.path(folder, paste0("stop-", block)))) {
      stop(structure(list(message = "", call = NULL), class = c("interrupt", "condition")))
    }
  }
  waiting <- function(call) {
    function(...) {
      value <- withVisible(call(...))
      unless_stopped()
      if (value$visible) value$value else invisible(value$value)
    }
  }

  attach(
    list(
      display_html = display_html,
      system = waiting(base::system),
      system2 = waiting(base::system2),
      # that of R would step through all that comes, and there is nobody to do it
      browser = function(...) say("[browser() does nothing here: nobody is at a keyboard]\n")
    ),
    name = "lmc", warn.conflicts = FALSE
  )

  show_value <- function(value) {
    if (isS4(value)) {
      methods::show(value)
    } else if (inherits(value, "htmlwidget")) {
      print(value, view = TRUE)  # else it is only shown where somebody is at a keyboard
    } else if (inherits(value, c("shiny.tag", "shiny.tag.list")) ||
               (inherits(value, "html") && is.character(value))) {
      display_html(as.character(value))
    } else {
      print(value)
    }
  }

  # Errors ------------------------------------------------------------------------------------------

  source_file <- NULL  # of the block that runs

  line_of <- function(ref) {
    if (is.null(ref) || !identical(attr(ref, "srcfile"), source_file)) NULL else as.integer(ref)[1L]
  }

  # The lines of the block that are being evaluated, the innermost first.
  lines_now <- function(calls, last) {
    found <- lapply(calls, function(call) line_of(attr(call, "srcref")))
    found <- unique(c(rev(unlist(found)), last))
    utils::head(found, MAX_LINES)
  }

  of_ours <- function(call) {
    is.null(call) || (is.call(call) && (
      identical(call[[1L]], quote(eval)) || identical(call[[1L]], quote(withVisible)) ||
      identical(call[[1L]], quote(doTryCatch))))
  }

  told <- function(what, condition, lines = NULL) {
    call <- conditionCall(condition)
    where <- if (of_ours(call)) "" else paste0(" in ", utils::head(deparse(call, 60L, nlines = 1L), 1L))
    at <- if (length(lines)) paste0("\n    at line ", lines, collapse = "") else ""
    paste0(what, where, ": ", paste(conditionMessage(condition), collapse = "\n"), at)
  }

  parse_error <- function(condition) {
    text <- sub("^<text>:", "line ", conditionMessage(condition))
    paste0("Error: ", text)
  }

  # Blocks --------------------------------------------------------------------------------------------

  evaluate <- function(code) {
    expressions <- tryCatch(parse(text = code, keep.source = TRUE, encoding = "UTF-8"),
      error = function(condition) {
        frame(t = "error", text = parse_error(condition))
        NULL
      })
    references <- attr(expressions, "srcref")
    source_file <<- attr(expressions, "srcfile")
    last <- NULL
    lines <- NULL
    trouble <- tryCatch({
      withCallingHandlers(
        for (i in seq_along(expressions)) {
          unless_stopped()
          last <- as.integer(references[[i]])[1L]
          frame(t = "line", line = last)
          value <- allowInterrupts(withVisible(eval(expressions[[i]], GLOBAL)))
          if (value$visible) allowInterrupts(show_value(value$value))
          pages(all = FALSE)
        },
        warning = function(condition) {
          level <- getOption("warn")
          if (is.numeric(level) && level >= 2) return()
          if (!is.numeric(level) || level >= 0) say(told("Warning", condition), "\n")
          invokeRestart("muffleWarning")
        },
        error = function(condition) lines <<- lines_now(sys.calls(), last)
      )
      NULL
    }, error = function(condition) condition, interrupt = function(condition) NULL)
    if (!is.null(trouble)) frame(t = "error", text = told("Error", trouble, lines))
  }

  # An interrupt that came when its block had ended is meant for nobody any more.
  forget_interrupts <- function() {
    tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(condition) NULL)
  }

  run <- function(id, code) {
    forget_interrupts()
    block <<- id
    frame(t = "begin", id = id)
    evaluate(code)
    # a page is drawn by code: what goes wrong in it is said, and does not end us
    tryCatch(pages(all = TRUE), error = function(condition) {
      frame(t = "error", text = told("Error", condition))
    })
    done(id)
  }

  done <- function(id) {
    cwd <- tryCatch(getwd(), error = function(condition) NULL)
    if (is.null(cwd)) frame(t = "done", id = id) else frame(t = "done", id = id, cwd = cwd)
  }

  read_bytes <- function(size) {
    found <- raw()
    while (length(found) < size) {
      more <- readBin(at("orders"), "raw", size - length(found))
      if (!length(more)) quit("no", runLast = FALSE)  # nobody speaks to us any more
      found <- c(found, more)
    }
    found
  }

  read_line <- function() {
    line <- raw()
    while ((byte <- read_bytes(1L)) != as.raw(10L)) line <- c(line, byte)
    strsplit(rawToChar(line), " ", fixed = TRUE)[[1L]]
  }

  repeat {
    order <- read_line()
    id <- as.integer(order[2L])
    text <- rawToChar(read_bytes(as.integer(order[3L])))
    Encoding(text) <- "UTF-8"
    switch(order[1L],
      token = {
        token <- text
        frame(t = "ready", version = R.version.string, folder = folder)
      },
      run = run(id, text),
      ask = done(id)  # whoever asks may have missed it
    )
  }
}))
