// Package pagetest checks pages in tests, with a parser and in a real browser.
package pagetest
