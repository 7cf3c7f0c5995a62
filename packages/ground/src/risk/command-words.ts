/**
 * The words of a shell command that may name files, each also below the folders that the command changes to. A guess on
 * the safe side: a word that names nothing is harmless.
 */
export function listCommandWords(command: string): string[] {
  const words = command.split(/[\s'"`;|&()<>=,${}]+/).filter((word) => word !== '');
  const folders = words.filter((_, index) => words[index - 1] === 'cd');
  return [...new Set([...words, ...folders.flatMap((folder) => words.map((word) => `${folder}/${word}`))])];
}
