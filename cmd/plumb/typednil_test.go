package main

import (
	"go/ast"
	"go/types"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestTypedNil finds the pointer that a function returned beside an error, and that went
// into an interface before the error was looked at: an interface that holds a nil pointer
// is not nil, so whoever closes what there is calls a method of nothing.
func TestTypedNil(t *testing.T) {
	list, err := packages.Load(&packages.Config{Dir: "../..", Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports |
		packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 50 {
		t.Fatalf("found %d packages", len(list))
	}
	for _, p := range list {
		for _, e := range p.Errors {
			t.Error(e)
		}
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				for _, at := range typedNils(p.TypesInfo, n) {
					t.Errorf("%s: a pointer goes into an interface beside its error", p.Fset.Position(at.Pos()))
				}
				return true
			})
		}
	}
}

// typedNils returns where n, an assignment or a function, puts a pointer of several results
// into an interface.
func typedNils(info *types.Info, n ast.Node) (found []ast.Node) {
	pointer := func(results types.Type, i int, into types.Type) bool {
		tuple, ok := results.(*types.Tuple)
		if !ok || into == nil || !types.IsInterface(into) {
			return false
		}
		_, is := tuple.At(i).Type().Underlying().(*types.Pointer)
		return is
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		if len(n.Rhs) != 1 || len(n.Lhs) < 2 {
			return nil
		}
		for i, to := range n.Lhs {
			if pointer(info.TypeOf(n.Rhs[0]), i, info.TypeOf(to)) {
				found = append(found, n)
			}
		}
	case *ast.FuncDecl:
		if n.Body != nil {
			found = returns(info, n.Body, info.Defs[n.Name].Type(), pointer)
		}
	case *ast.FuncLit:
		found = returns(info, n.Body, info.TypeOf(n), pointer)
	}
	return found
}

// returns looks at the return statements of one function, without those inside it.
func returns(info *types.Info, body *ast.BlockStmt, function types.Type, pointer func(types.Type, int, types.Type) bool) (found []ast.Node) {
	results := function.(*types.Signature).Results()
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for i := 0; len(n.Results) == 1 && i < results.Len(); i++ {
				if pointer(info.TypeOf(n.Results[0]), i, results.At(i).Type()) {
					found = append(found, n)
				}
			}
		}
		return true
	})
	return found
}
