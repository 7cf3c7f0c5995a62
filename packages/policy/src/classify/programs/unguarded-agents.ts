/** Agents that are started without their guard: their commands then run without questions and limits. */

/** Options that say it in so many words, in any program. */
const SAYS_IT =
  /^--(?:allow-)?(?:dangerously-(?:skip-permissions|bypass-approvals-and-sandbox|allow-all|bypass\S*)|skip-permissions-unsafe|trust-all-tools|yolo|approval-mode[= ]yolo|permission-mode[= ]bypassPermissions|sandbox[= ]danger-full-access|auto-approve-everything)$/;
const MAY_PAIR = /yolo|auto_all|bypass|dontAsk|danger-|Bash\(|^\*$/;
const PAIRS =
  /(?:^|\s)(?:--approval-mode[= ](?:yolo|auto_all)|--permission-mode[= ](?:bypassPermissions|dontAsk)|(?:-s|--sandbox)[= ]danger-full-access|(?:-c|--config)[= ]\S*sandbox_mode\s*=\s*\W?danger-full-access|--allowed-?[tT]ools[= ](?:\*|Bash\(\*\)|.*\bBash\(\*\)))["']?(?:\s|$|,)/;
/** Per program: the short or ambiguous option that means the same there. */
const OWN: Readonly<Record<string, RegExp>> = {
  gemini: /^-\w*y$/,
  qwen: /^-\w*y$/,
  crush: /^(-y|--yolo)$/,
  kimi: /^(-y|--yes|--afk|--auto-approve)$/,
  copilot: /^--allow-all(?:-tools|-paths)?$/,
  'cursor-agent': /^(-f|--force)$/,
  interpreter: /^(-y|--auto_run)$/,
  cline: /^(-y|--yolo|--auto-approve\S*)$/,
  kilocode: /^(--auto|--yolo)$/,
  amp: /^--dangerously\S*$/,
};

export function startsUnguarded(name: string, args: readonly string[]): boolean {
  if (args.some((arg) => arg.startsWith('--') && SAYS_IT.test(arg))) return true;
  const own = Object.hasOwn(OWN, name) ? OWN[name] : undefined;
  if (own !== undefined && args.some((arg) => own.test(arg))) return true;
  return args.some((arg) => MAY_PAIR.test(arg)) && PAIRS.test(args.slice(0, 24).join(' '));
}

/** Keys and values of an agent's or editor's settings that stop it from asking. */
const SWITCHES_OFF =
  /chat\.tools\.\S{0,30}?auto-?approve|\.agent\.auto-?approve|["'`]?\b(?:autoApprove|auto_approve|alwaysAllow|yoloMode|yolo|dangerouslySkipPermissions|skipPermissions|bypassPermissionsModeAccepted|skipDangerousModePermissionPrompt|enableAllProjectMcpServers|autoAcceptAll|disableSandbox|autoRun)["'`]?\]?\s*(?:[:=]|=>|,)\s*(?:["'`]?(?:true|True|all|on)\b|\[|\*|1\b)|bypassPermissions|\bapproval(?:_policy|Mode|_mode)["'`]?\]?\s*[:=,]\s*["'`]*(?:never|yolo|auto_all)|danger-full-access|["'`]Bash\((?:\*|:\*|\*:\*)\)|workspace\.trust\.enabled["'`]?\]?\s*[:=,]\s*["'`]?(?:false|False)|allowAutomaticTasks["'`]?\]?\s*[:=,]\s*["'`]?(?:on|true|True)|["'`]?runOn["'`]?\s*:\s*["'`]folderOpen|\bGOOSE_MODE["'`]?\s*[:=]\s*["'`]?auto\b/;

const MAY_SWITCH =
  /approv|alwaysAllow|yolo|Permissions|ermissionPrompt|ProjectMcp|AcceptAll|Sandbox|autoRun|danger-|Bash\(|trust|AutomaticTasks|runOn|GOOSE/i;

export function switchesGuardOff(text: string): boolean {
  return MAY_SWITCH.test(text) && SWITCHES_OFF.test(text);
}

/** One-line edits that set such a key: `jq '.x=true'`, `sed -i 's/…/…/'`. */
export function editsGuardOff(name: string, args: readonly string[]): boolean {
  if (/^(jq|yq|dasel|gojq|jaq)$/.test(name))
    return args.some((arg) => /[^=!<>]=(?!=)|\|=/.test(arg) && switchesGuardOff(arg));
  if (name === 'sed' || name === 'gsed')
    return (
      args.some((arg) => /^-[a-zA-Z]*i|^--in-place/.test(arg)) &&
      args.some((arg) => switchesGuardOff(replacementOf(arg)))
    );
  return false;
}

function replacementOf(script: string): string {
  return /^s(\W)(?:(?!\1).)*\1((?:(?!\1).)*)\1/s.exec(script)?.[2] ?? '';
}
