/** The option with which rsync, kubectl and similar tools print without acting. `-n` is often a namespace. */
export function isDryRun(args: readonly string[]): boolean {
  return args.some((arg) =>
    /^(--dry-run(=(?!none).*)?|--dryrun|--what-if|--noop|--check|--simulate|-WhatIf)$/.test(arg),
  );
}
