/** A pipeline that reads the file that it overwrites finds it empty. */
import type { Command } from 'unbash';
import type { InspectedCommand } from './command-inspector.ts';

/** Programs that read the files they are given. */
const READS =
  /(^|\/)(cat|sort|uniq|e?grep|g?sed|[gmn]?awk|jq|yq|tr|cut|head|tail|tac|rev|nl|fmt|fold|expand|iconv|column|paste|shuf|perl|xmllint|prettier|base64)$/;

export function readsItsArguments(program: string): boolean {
  return READS.test(program);
}

/** Whether a redirection of this command, or a command before it in the pipeline, reads the target. */
export function readsTarget(
  target: string,
  redirects: Command['redirects'],
  pipeline: readonly InspectedCommand[],
): boolean {
  const isInput = redirects.some(
    (redirect) =>
      redirect.type === 'Redirect' && redirect.operator === '<' && redirect.target?.value === target,
  );
  return (
    isInput ||
    pipeline.some(
      ({ argv: [program = '', ...words] }) =>
        (program === '<' || readsItsArguments(program)) && words.includes(target),
    )
  );
}
