/** Patterns of names, `*`, `?` and `**`. No step is repeated, so that no pattern and no path takes long. */

export function splitWords(pattern: string): readonly string[] {
  return pattern.split('/').map((word) => (word === '**' ? word : word.replaceAll(/\*+/g, '*')));
}

/** Only the last `**` is tried with more folders: what came before it has matched with the fewest. */
export function matchesWords(words: readonly string[], path: string): boolean {
  const names = path.replace(/(.)\/$/, '$1').split('/');
  let [word, name, starWord, starName] = [0, 0, -1, 0];
  while (name < names.length) {
    const wanted = words[word];
    if (wanted === '**') [starWord, starName, word] = [word, name, word + 1];
    else if (wanted !== undefined && matchesName(wanted, names[name] ?? ''))
      [word, name] = [word + 1, name + 1];
    else if (starWord < 0 || isDots(names[starName] ?? '')) return false;
    else [starName, word, name] = [starName + 1, starWord + 1, starName + 1];
  }
  return words.slice(word).every((rest) => rest === '**');
}

/** The same for the characters of one name. */
function matchesName(word: string, name: string): boolean {
  if (!/[*?]/.test(word)) return word === name;
  if (name === '' || name === '..' || (name === '.' && word.startsWith('*'))) return false;
  let [at, place, star, from] = [0, 0, -1, 0];
  while (place < name.length) {
    if (word[at] === '*') [star, from, at] = [at, place, at + 1];
    else if (at < word.length && (word[at] === '?' || word[at] === name[place]))
      [at, place] = [at + 1, place + 1];
    else if (star < 0) return false;
    else [from, at, place] = [from + 1, star + 1, from + 1];
  }
  return word[at] === '*' ? at + 1 === word.length : at === word.length;
}

function isDots(name: string): boolean {
  return name === '.' || name === '..';
}
