/**
 * Judges what a line writes into a file that will later run by itself: settings that stop an agent from asking, CI
 * steps that send secrets, start-up code, a script in the place of a program. An ordinary file of that name is a plain
 * write; only the content decides.
 */
import { hit, type Hit } from './finding.ts';
import type { Call } from './inspector.ts';
import { judgeCode } from './programs/inline-code.ts';
import { switchesGuardOff } from './programs/unguarded-agents.ts';
import { forkScope } from './shell-scope.ts';
import { SECRET, UNKNOWN } from './unknown-text.ts';

const SETTINGS = /\.(jsonc?|json5|toml|ya?ml|code-workspace|ini|conf)$|(^|\/)\.[\w-]+(rc|ignore)?$/;
const PIPELINE =
  /(^|\/)\.(github|gitea|forgejo)\/(workflows|actions)\/.*\.ya?ml$|(^|\/)(\.gitlab-ci|azure-pipelines|bitbucket-pipelines|\.travis|\.drone|\.woodpecker|cloudbuild|buildspec)[\w.-]*\.ya?ml$|(^|\/)\.circleci\/config\.yml$|(^|\/)Jenkinsfile$/;
const START_UP = /(^|[/\uE000-\uE002])(site|user)customize\.py$/;
const PATH_FILE = /\.pth$/;
/** Programs that exist on every machine: a script of that name before them in PATH replaces them. */
const SHIM =
  /(^|\/)(\.local\/bin|bin|\.bin|\.cargo\/bin|\.npm-global\/bin|node_modules\/\.bin|\.venv\/bin|venv\/bin)\/(git|ssh|scp|sudo|su|ls|cat|cd|rm|cp|mv|ps|curl|wget|gpg|bash|sh|zsh|env|grep|passwd|docker|npm|node|pip3?|python3?|claude|codex|gemini|kubectl|aws|make)$/;
const SPEAKS = /\b(?:curl|wget|nc|ncat|netcat|socat|scp|https?|socket|urlopen|requests|fetch|\/dev\/tcp)\b/;
const MAX_CONTENT = 20_000;

type Where = Pick<Call, 'inspector' | 'scope' | 'cause'>;

/** Reports the findings that the content adds to a plain write. */
export function judgeWritten(path: string, content: string, where: Where): void {
  if (content.length < 8 || content.length > MAX_CONTENT) return;
  const found = hitOfContent(path, content, where);
  if (found !== null) where.inspector.report(found, where.cause);
}

function hitOfContent(path: string, content: string, where: Where): Hit | null {
  if (PIPELINE.test(path)) return hitOfPipeline(content, where);
  if (SETTINGS.test(path) && switchesGuardOff(content)) return hit('system_modify', 'agent-settings');
  if (/\.jsonc?$/.test(path)) return hitOfHooks(content, where);
  if (START_UP.test(path)) return hit('system_modify', 'start-up-code');
  if (PATH_FILE.test(path) && /^\s*(?:import|exec)\b(?!\s+coverage\b)/m.test(content))
    return hit('system_modify', 'start-up-code');
  if (SHIM.test(path) && content.includes('\n')) return hit('system_modify', 'shadows-program');
  return SPEAKS.test(content) ? hitOfScript(path, content, where) : null;
}

/** A script that sends credentials or opens a shell to elsewhere is grave in every folder. */
function hitOfScript(path: string, content: string, where: Where): Hit | null {
  const isShell = /^#!.*\b(?:ba|z|da|k)?sh\b/.test(content) || /\.(?:sh|bash|zsh)$/.test(path);
  const isCode = /\.(?:py|[cm]?[jt]s|rb|php|pl)$/.test(path);
  if (!isShell && !isCode) return null;
  const { inspector, cause } = where;
  const scope = forkScope(where.scope);
  const found = inspector.collect(() => {
    if (isShell) inspector.runScript(content, scope, cause);
    else judgeCode(content, { ...where, scope, name: '', path: '', args: [], stdin: undefined });
  });
  const rules = isShell ? HANDS_AWAY : RUNS_FOREIGN;
  return found.find(({ rule }) => rules.has(rule)) ?? null;
}

/** Commands of a project that run on this machine without being called. */
const HOOKS = /"(?:initializeCommand|(?:pre|post)?install|prepare)"\s*:\s*"((?:[^"\\]|\\.)*)"/g;
const TAKES_OVER = new Set([
  'sends-credentials',
  'reverse-shell',
  'pipe-to-shell',
  'pipe-to-interpreter',
  'remote-code',
]);

function hitOfHooks(content: string, { inspector, scope, cause }: Where): Hit | null {
  for (const [, text = ''] of content.matchAll(HOOKS)) {
    const command = text.replace(/\\(["\\/])/g, '$1');
    const found = inspector.collect(() => inspector.runScript(command, forkScope(scope), cause));
    const grave = found.find(({ rule }) => TAKES_OVER.has(rule));
    if (grave !== undefined) return grave;
  }
  return null;
}

const HANDS_AWAY = new Set(['sends-credentials', 'reverse-shell']);
const RUNS_FOREIGN = new Set([...HANDS_AWAY, 'pipe-to-shell']);

function hitOfPipeline(content: string, where: Where): Hit | null {
  const steps = stepsOf(content);
  if (
    /\btoJSON\(\s*secrets\s*\)/i.test(content) &&
    /\bcurl|\bwget|\bnc\b|base64|\bxxd|\brev\b|https?:/.test(content)
  )
    return hit('bash_destructive', 'sends-credentials');
  if (
    /\bpull_request_target\b/.test(content) &&
    /github\.(?:event\.pull_request\.head|head_ref)/.test(content)
  )
    return hit('bash_destructive', 'opens-machine');
  if (
    steps.length > 0 &&
    !/\buses:/.test(content) &&
    steps.every((step) => ONLY_SAYS.test(step)) &&
    PRETENDS.test(content)
  )
    return hit('bash_destructive', 'empty-check');
  const { inspector, cause } = where;
  for (const step of steps.filter((text) => SPEAKS.test(text)).slice(0, MAX_STEPS)) {
    const text = step.replace(/\$\{\{([^}]*)\}\}/g, (_, inner: string) =>
      /\bsecrets\b|\bgithub\.token\b/.test(inner) ? SECRET : UNKNOWN,
    );
    const found = inspector.collect(() => inspector.runScript(text, forkScope(where.scope), cause));
    const grave = found.find(({ rule }) => HANDS_AWAY.has(rule));
    if (grave !== undefined) return grave;
  }
  return null;
}

const MAX_STEPS = 16;
const ONLY_SAYS = /^\s*(?:(?:echo|printf|true|:|exit 0)\b[^\n|;&]*(?:\n\s*|$))+$/;
/** Reports a success that was never tested. */
const PRETENDS = /\b(?:pass(?:ed|ing|es)?|success\w*|all (?:good|green)|ok)\b/i;

/** The commands of a pipeline's steps: after `run:` or `script:`, on the line or in the block below it. */
function stepsOf(content: string): string[] {
  const lines = content.split('\n');
  const steps: string[] = [];
  for (const [index, line] of lines.entries()) {
    const [, indent = '', text = ''] =
      /^(\s*(?:-\s+)?)(?:(?:run|script|command|before_script|after_script):|(?:sh|bash)\s(?=\s*['"]))\s*(.*)$/.exec(
        line,
      ) ?? [];
    if (text === '' && !/^\s*(?:-\s+)?(?:run|script|before_script|after_script):\s*$/.test(line)) continue;
    if (text !== '' && !/^[|>][+-]?\d*\s*$/.test(text)) {
      steps.push(text.replace(/^(['"])(.*)\1$/, '$2'));
      continue;
    }
    const block: string[] = [];
    for (const below of lines.slice(index + 1)) {
      if (below.trim() !== '' && below.search(/\S/) < Math.max(indent.length, 1)) break;
      block.push(below.trim().replace(text === '' ? /^-\s+/ : /^/, ''));
    }
    steps.push(block.join('\n'));
  }
  return steps;
}
