/** Composes the prompts of a run from fragments. */
import { compileSystemPrompt, compileUserPrompt, describePrompt } from '../registry/index.ts';
import { expectsHandoff } from './expects-handoff.ts';
import type { AdmittedRun, DispatchRequest } from './contract.ts';
import type { FoundAgent, FoundRuntime } from './rooms.ts';

/** How an agent asks a person and gets messages, and what to do after a denial. */
const mailboxHelp = (mailbox: string, canInject: boolean): string =>
  [
    'You work alone in a sandbox; no one reads along.',
    'If you cannot continue without a decision of a person, or were denied something you need, write the file',
    `${mailbox}/needs_input.json with {"question": "…", "options": ["…"], "context": "…", "partial_state": {…}} and stop.`,
    ...(canInject
      ? []
      : [
          `While you work, a person may send you messages: they are appended to ${mailbox}/channel/inbox.jsonl, one JSON object a line.`,
          'Read that file before you begin, between steps and before you finish, and follow what its "body" says.',
        ]),
    'Files for the person who asked (reports, images) go into the folder outputs/.',
  ].join(' ');

/** How an agent reports the outcome of a task with a hand-off. */
const handoffHelp = (mailbox: string): string =>
  [
    'When you are done, report the outcome once, with the tool hand_off if you have it, or else as the file',
    `${mailbox}/handoff.json: {"status": "complete" | "partial" | "blocked" | "failed", "summary": "…", "concerns": ["…"], "suggestions": ["…"]}.`,
    'Files and lines are counted for you.',
  ].join(' ');

/** In place and without a sandbox `.caisson` is the project's own state folder; the mailbox is elsewhere then. */
function nameMailbox({ grant, workspaceKind }: Pick<AdmittedRun, 'grant' | 'workspaceKind'>): string {
  return grant.sandbox === 'none' && workspaceKind === 'in-place' ? '$CAISSON_MAILBOX' : '.caisson';
}

export function compilePrompts(options: {
  request: DispatchRequest;
  agent: FoundAgent | null;
  runtime: FoundRuntime;
  description: string;
  place: Pick<AdmittedRun, 'grant' | 'workspaceKind'>;
}): Pick<AdmittedRun, 'systemPrompt' | 'userPrompt' | 'compiled'> {
  const { request, runtime, description } = options;
  if (runtime.name === 'command') return { systemPrompt: '', userPrompt: description, compiled: null };
  const { name, definition } = options.agent ?? { name: 'default', definition: {} };
  const own =
    request.systemPrompt === undefined
      ? compileSystemPrompt(name, definition, description)
      : describePrompt(request.systemPrompt, 0);
  const user = compileUserPrompt(name, definition, description);
  const mailbox = nameMailbox(options.place);
  const ours = [
    mailboxHelp(mailbox, runtime.descriptor.canInject),
    ...(expectsHandoff(request) ? [handoffHelp(mailbox)] : []),
  ];
  const systemPrompt = [own.text, ...ours].filter((part) => part !== '').join('\n\n');
  const { text: _text, ...compiled } = describePrompt(
    systemPrompt,
    own.fragmentCount + user.fragmentCount + ours.length,
  );
  return { systemPrompt, userPrompt: user.text, compiled };
}
