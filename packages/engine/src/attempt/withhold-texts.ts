/**
 * Commits of an agent that had secrets, where nobody knows their values any more: its host died, and the worker with it.
 * Their files are kept; what the agent wrote as message, author or name is not, because it may have a secret in it.
 */
const MESSAGE = 'The message is withheld: this run had secrets, and the process that knew them is gone.\n';
const PERSON = /^(author|committer) .*? (\d+ [-+]\d{4})$/;

/** Takes the part of a commit behind its tree and parents, or a name. */
export function withholdTexts(text: Buffer): Buffer {
  if (!text.subarray(0, 7).equals(Buffer.from('author '))) return Buffer.from('withheld');
  const [head = ''] = text.toString('latin1').split('\n\n', 1);
  const lines = head.split('\n').flatMap((line) => {
    const [, role, time] = PERSON.exec(line) ?? [];
    return role === undefined ? [] : [`${role} withheld <withheld@invalid> ${time}`];
  });
  return Buffer.from(`${lines.join('\n')}\n\n${MESSAGE}`, 'latin1');
}
