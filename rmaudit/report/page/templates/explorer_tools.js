// What narrows the rows down, the difference of two sweeps, and the rows as a file.

const IDENTITY = 64, WORD = 128; // of a row's flags; the lower ones are lexicons, in their order
let against = null; // the difference that is shown: its name, and a number for each row

// Returns a test of whether a row passes the filters.
function filter() {
  const lexicon = Number(part("lexicon").value), { flags, words } = table.vocabulary;
  const asked = (lexicon ? 1 << (lexicon - 1) : 0) | (part("identity").checked ? IDENTITY : 0)
    | (part("whole").checked ? WORD : 0);
  const once = part("once").checked, seen = once && new Uint8Array(words.length);
  if (!asked && !once) return null;
  return (row) => {
    if ((flags[row] & asked) !== asked) return false;
    if (!once) return true;
    return seen[words[row]] ? false : (seen[words[row]] = 1, true);
  };
}

function filterInWords() {
  const lexicon = part("lexicon");
  return [
    lexicon.value !== "0" && `in ${lexicon.selectedOptions[0].textContent}`,
    part("identity").checked && "that name people",
    part("whole").checked && "that are whole words",
    part("once").checked && "one spelling each",
  ].filter(Boolean);
}

// Scores in sd of their sweep, from its mean.
const standard = ({ scores, mean, sd }) => Float32Array.from(scores, (score) => (score - mean) / (sd || 1));

// A sweep of this table minus any other sweep: rows of another vocabulary are found by their text.
async function differ() {
  const [first, second] = [part("first").value, part("second").value];
  if (first === "" || second === "") { against = null; return; }
  const one = table.columns[Number(first)], [number, place] = second.split(" ").map(Number);
  const other = await ready(number), column = other.columns[place];
  const [z, y] = [standard(one), standard(column)];
  let row = (i) => i;
  if (other.vocabulary !== table.vocabulary) {
    const places = new Map(other.vocabulary.texts.map((text, i) => [text, i]));
    row = (i) => places.get(table.vocabulary.texts[i]) ?? -1;
  }
  const gaps = Float32Array.from(z, (value, i) => value - (y[row(i)] ?? NaN));
  const sure = Uint8Array.from(one.sure, (exact, i) => exact && column.sure[row(i)]);
  const named = other === table ? column.prompt : `${other.model}, ${column.prompt}`;
  against = { name: `${one.prompt} − ${named}`, gaps, sure, down: ordered(gaps, true), up: ordered(gaps, false) };
}

function choices() {
  const add = (name, options) => part(name).replaceChildren(new Option("–", ""), ...options);
  add("first", table.columns.map(({ prompt }, i) => new Option(prompt, i)));
  add("second", index.tables.flatMap(({ model, columns }, t) => columns.map(({ prompt }, c) =>
    new Option(index.tables.length > 1 ? `${model}, ${prompt}` : prompt, `${t} ${c}`))));
  against = null;
}

// As shown: masked terms stay masked, and no text is a formula to a spreadsheet.
function csv() {
  const { ids, texts, masks, counts, words } = table.vocabulary;
  const quoted = (text) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const number = (value) => Number.isNaN(value) ? "" : value;
  const heads = ["token", "id", "spellings", ...table.columns.flatMap(({ prompt }) => [`${prompt}: score`, `${prompt}: rank`])];
  if (against) heads.push(`${against.name}, sd`);
  const lines = [heads.map(quoted).join(",")];
  for (const row of matches) {
    const text = masks.has(row) && !shown(row) ? `[${masks.get(row)}]` : texts[row];
    const cells = [quoted(text), ids[row], counts[words[row]]];
    for (const { scores, ranks, decimals } of table.columns) {
      cells.push(Number.isNaN(scores[row]) ? "" : round(scores[row], decimals), number(ranks[row]));
    }
    if (against) cells.push(number(against.gaps[row]));
    lines.push(cells.join(","));
  }
  return lines.join("\r\n") + "\r\n";
}

function download() {
  const link = element("a", { download: "tokens.csv" });
  link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}
