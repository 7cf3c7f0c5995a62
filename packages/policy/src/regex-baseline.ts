/**
 * A plain-regex gate as many tools ship it: fifteen patterns over the raw line. It exists only for comparison, and is
 * written to be fair: common spellings, flags in either order.
 */
const PATTERNS: readonly RegExp[] = [
  /\brm\s+(-\w*\s+)*-\w*[rR]\w*/,
  /\brm\s+(-\w+\s+)*\S+/,
  /\bsudo\s+(rm|dd|mkfs|apt|apt-get|systemctl|chown|tee)\b/,
  /\bdd\s+.*\bof=/,
  /\b(mkfs(\.\w+)?|fdisk|parted|wipefs|shred)\b/,
  />\s*\/(dev\/(sd|nvme|disk)|etc)\S*/,
  /\bchmod\s+(-R\s+)?(777|000)\b|\bchown\s+-R\b/,
  /\bgit\s+push\b/,
  /\bgit\s+(reset\s+--hard|clean\s+-\w*f|checkout\s+(--\s+)?\.|branch\s+-D|stash\s+(drop|clear)|filter-branch|restore)\b/,
  /\b(shutdown|reboot|halt|poweroff)\b/,
  /\b(apt|apt-get|dnf|yum|brew|pacman)\s+(-y\s+)?(install|remove|purge|uninstall)\b/,
  /\b(curl|wget)\b.*\|\s*(sudo\s+)?(ba|z)?sh\b/,
  /\bfind\b.*(-delete|-exec\s+rm)\b/,
  /\b(drop\s+(table|database)|truncate\s+table|flushall)\b/i,
  /\b(kubectl\s+delete|terraform\s+destroy|docker\s+system\s+prune)\b|:\(\)\s*\{/,
];

export function isFlaggedByRegex(command: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(command));
}
