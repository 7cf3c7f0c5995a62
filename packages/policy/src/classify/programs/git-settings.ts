/** Settings that git reads from its environment: they count like those in its files, or after `-c`. */

export interface GitSetting {
  /** In lower case, as git compares it. */
  readonly key: string;
  readonly value: string;
  /** The variable that names the key: without it the setting is gone. */
  readonly variable: string;
}

const PARAMETERS = 'GIT_CONFIG_PARAMETERS';
const QUOTED = String.raw`'((?:[^']|'\\[!']')*)'`;

/**
 * `GIT_CONFIG_KEY_n` with `GIT_CONFIG_VALUE_n`, whatever the count says: it may have been set before this line. And
 * `GIT_CONFIG_PARAMETERS`, in which git passes `-c` to itself.
 */
export function settingsIn(variables: ReadonlyMap<string, string>): GitSetting[] {
  const settings: GitSetting[] = [];
  for (const [variable, text] of variables) {
    const number = /^GIT_CONFIG_KEY_(\d+)$/.exec(variable)?.[1];
    if (number !== undefined) {
      const value = variables.get(`GIT_CONFIG_VALUE_${number}`) ?? '';
      settings.push({ key: text.toLowerCase(), value, variable });
    }
    if (variable === PARAMETERS) settings.push(...settingsInParameters(text));
  }
  return settings;
}

/** `'key=value'` or, as newer versions write it, `'key'='value'`; each in single quotes. */
function settingsInParameters(text: string): GitSetting[] {
  return [...text.matchAll(new RegExp(`${QUOTED}(?:=${QUOTED})?`, 'g'))].map(([, first = '', second]) => {
    const word = unquote(first);
    const at = second === undefined ? word.indexOf('=') : -1;
    const key = at === -1 ? word : word.slice(0, at);
    const value = second === undefined ? (at === -1 ? 'true' : word.slice(at + 1)) : unquote(second);
    return { key: key.toLowerCase(), value, variable: PARAMETERS };
  });
}

const unquote = (text: string): string => text.replaceAll(/'\\([!'])'/g, '$1');
