// Reads {tables: {name: {column: type}}, queries: {name: text}}, one a line, from standard input and
// answers each by a line: for each query what the Kusto language service finds wrong, the columns
// that it answers with, and its syntax tree. Loading the service takes longer than using it.
"use strict";
const service = "./node_modules/@kusto/language-service-next/";
require(service + "bridge.min.js");
require(service + "Kusto.Language.Bridge.min.js");
const { KustoCode, GlobalState, Symbols, Syntax } = Kusto.Language;

const kinds = {};
for (const name of Object.keys(Syntax.SyntaxKind)) {
  if (typeof Syntax.SyntaxKind[name] === "number") kinds[Syntax.SyntaxKind[name]] = name;
}

// Each tree as lists: [kind, text] for a token, [kind, [children], type] for a node.
function tree(node) {
  if (node === null || node.IsMissing) return null;
  if (node.IsToken) return node.Text === "" ? null : [kinds[node.Kind], node.Text];
  const children = [];
  for (let index = 0; index < node.ChildCount; index++) {
    const child = tree(node.GetChild(index));
    if (child !== null) children.push(child);
  }
  const type = node.ResultType ? node.ResultType.Name : null;
  return [kinds[node.Kind], children, type];
}

const listed = (list) => Array.from({ length: list.Count }, (_, index) => list.getItem(index));

function analyse(asked) {
  const tables = Object.entries(asked.tables).map(([name, columns]) => {
    const schema = Object.entries(columns).map(([column, type]) => `${column}: ${type}`);
    return new Symbols.TableSymbol.$ctor7(name, `(${schema.join(", ")})`, null);
  });
  const globals = GlobalState.Default.WithDatabase(new Symbols.DatabaseSymbol.ctor("workspace", tables));

  const found = {};
  for (const [name, text] of Object.entries(asked.queries)) {
    const code = KustoCode.ParseAndAnalyze(text, globals);
    const result = code.ResultType;
    found[name] = {
      diagnostics: listed(code.GetDiagnostics()).map(
        (one) => `${one.Code} at ${one.Start}: ${one.Message}`,
      ),
      columns:
        result && result.Columns
          ? Object.fromEntries(listed(result.Columns).map((one) => [one.Name, one.Type.Name]))
          : {},
      tree: tree(code.Syntax),
    };
  }
  return found;
}

require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => process.stdout.write(JSON.stringify(analyse(JSON.parse(line))) + "\n"));
