"""What the Bicep files say, without the compiler: read, checked against Azure's models, expanded.

`reader` turns a file into the values of `syntax`; `folder` holds the files of a deployment;
`expansion` evaluates them into the resources that would stand. `wiring`, `typecheck`, `security`
and `naming` say what is wrong, each mistake as a `Finding` with its file and line.
"""
