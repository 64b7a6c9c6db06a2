// Build makes what the applications in suites/apps need beside their own files: go run ./suites/apps/build FOLDER ...
// An image is written as FOLDER/NAME.tar for each recipe FOLDER/NAME.image.yaml, and files of a Go module go into the folder that
// FOLDER/NAME.copies.yaml names, unless they are newer than what asks for them and than the sources of their program.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-ha/holdfast/workloads/image/debian"
	"github.com/holdfast-ha/holdfast/workloads/image/gomodule"
)

func main() {
	for _, folder := range os.Args[1:] {
		if err := build(context.Background(), folder); err != nil {
			fmt.Fprintln(os.Stderr, "build:", err)
			os.Exit(1)
		}
	}
}

const (
	suffix       = ".image.yaml"
	copiesSuffix = ".copies.yaml"
)

// build makes what one application needs.
func build(ctx context.Context, folder string) error {
	asked, err := filepath.Glob(filepath.Join(folder, "*"+copiesSuffix))
	if err != nil {
		return err
	}
	for _, path := range asked {
		if err := copies(ctx, path); err != nil {
			return err
		}
	}
	recipes, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil {
		return err
	}
	if len(recipes) == 0 {
		return fmt.Errorf("%s has no recipe (*%s)", folder, suffix)
	}
	for _, path := range recipes {
		archive := strings.TrimSuffix(path, suffix) + ".tar"
		recipe, err := debian.Read(path)
		if err != nil {
			return err
		}
		if upToDate(archive, path, recipe.Program) {
			continue
		}
		fmt.Printf("%s: making %s\n", path, recipe.Name)
		if err := debian.Build(ctx, recipe, archive); err != nil {
			return err
		}
	}
	return nil
}

// copies makes a folder with files of a Go module.
func copies(ctx context.Context, path string) error {
	wanted, err := gomodule.ReadCopies(path)
	if err != nil || upToDate(wanted.Into, path, "") {
		return err
	}
	fmt.Printf("%s: copying from %s\n", path, wanted.Module)
	return wanted.Make(ctx)
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
