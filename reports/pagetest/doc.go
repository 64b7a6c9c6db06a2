// Package pagetest checks pages: with a parser, and in a real browser. It is for tests alone.
package pagetest
