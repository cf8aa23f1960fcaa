/**
 * What the elements of our parts are made by.
 *
 * One rule: build.mjs puts it into the widget, whose elements are calls of `h` then: 3 kB less than
 * what makes them by default.
 */

export { Fragment, h } from "preact";
