// Build makes what the applications in suites/apps need beside their own files: go run ./suites/apps/build FOLDER ...
// An image is written as FOLDER/NAME.tar for each recipe FOLDER/NAME.image.yaml, unless it is newer than its recipe and the sources of its program.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	for _, folder := range os.Args[1:] {
		if err := build(context.Background(), folder); err != nil {
			fmt.Fprintln(os.Stderr, "build:", err)
			os.Exit(1)
		}
	}
}

const suffix = ".image.yaml"

// build makes what one application needs.
func build(ctx context.Context, folder string) error {
	recipes, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil {
		return err
	}
	if len(recipes) == 0 {
		return fmt.Errorf("%s has no recipe (*%s)", folder, suffix)
	}
	for _, path := range recipes {
		archive := strings.TrimSuffix(path, suffix) + ".tar"
		recipe, err := readRecipe(path)
		if err != nil {
			return err
		}
		if upToDate(archive, path, recipe.Program) {
			continue
		}
		fmt.Printf("%s: making %s\n", path, recipe.Name)
		if err := buildImage(ctx, recipe, archive); err != nil {
			return err
		}
	}
	return nil
}

// upToDate reports whether an image is newer than its recipe and the files of its program, if it has one.
func upToDate(archive, recipe, program string) bool {
	made, err := os.Stat(archive)
	if err != nil {
		return false
	}
	sources := []string{recipe}
	if program != "" {
		files, err := filepath.Glob(filepath.Join(program, "*"))
		if err != nil {
			return false
		}
		sources = append(sources, files...)
	}
	for _, path := range sources {
		if asked, err := os.Stat(path); err != nil || !made.ModTime().After(asked.ModTime()) {
			return false
		}
	}
	return true
}
