/** The recipes that make would run of a makefile that stands on the line. */

interface Rule {
  readonly needs: readonly string[];
  readonly recipe: string[];
}

const RULE = /^([\w./-]+(?:\s+[\w./-]+)*)\s*::?(?!=)([^;#]*)(?:;(.*))?$/;

/** Those of the targets and of what they need; all of them when that is unclear. */
export function recipesOf(makefile: string, operands: readonly string[]): string {
  const lines = makefile.split('\n');
  const targets = operands.filter((word) => !word.includes('='));
  const rules = rulesOf(lines);
  const first = [...rules.keys()].find((name) => !name.startsWith('.'));
  const wanted = targets.length > 0 ? targets : first === undefined ? [] : [first];
  const isPlain = !/^[^\t\n]*[%$][^\n]*:(?!=)|^-?include\b|\$\(MAKE\)|\bmake\b/m.test(makefile);
  if (!isPlain || wanted.length === 0 || wanted.some((name) => !rules.has(name)))
    return lines
      .map((line) => line.replace(/^[\w.-]+:[^;]*;/, '\t'))
      .filter((line) => line.startsWith('\t'))
      .join('\n');
  const reached = new Set<string>();
  const recipes: string[] = [];
  const reach = (name: string): void => {
    const rule = rules.get(name);
    if (rule === undefined || reached.has(name)) return;
    reached.add(name);
    for (const need of rule.needs) reach(need);
    recipes.push(...rule.recipe);
  };
  for (const name of wanted) reach(name);
  return recipes.join('\n');
}

function rulesOf(lines: readonly string[]): Map<string, Rule> {
  const rules = new Map<string, Rule>();
  let current: Rule[] = [];
  for (const line of lines) {
    if (line.startsWith('\t')) {
      for (const rule of current) rule.recipe.push(line);
      continue;
    }
    const found = RULE.exec(line);
    if (found === null) continue;
    const [, names = '', needs = '', inline] = found;
    current = names.split(/\s+/).map((name) => {
      const known = rules.get(name);
      const rule = {
        needs: [...(known?.needs ?? []), ...needs.trim().split(/[\s|]+/)],
        recipe: known?.recipe ?? [],
      };
      if (inline !== undefined) rule.recipe.push(`\t${inline}`);
      rules.set(name, rule);
      return rule;
    });
  }
  return rules;
}
