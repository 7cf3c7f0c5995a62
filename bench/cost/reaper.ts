/** prctl, by the name that Node has for the processor. */
const PRCTL: Readonly<Record<string, number>> = { x64: 157, arm64: 167 };
const PR_SET_CHILD_SUBREAPER = 36;

/**
 * A command below a parent that waits for every process of it, also for those whose own parent did not: so the kernel
 * counts their CPU time there. Nothing in Node can ask for that.
 */
export function underReaper(argv: readonly string[]): string[] {
  const prctl = PRCTL[process.arch];
  if (prctl === undefined) throw new Error(`the number of prctl is not known for ${process.arch}`);
  const program = `
    syscall(${prctl}, ${PR_SET_CHILD_SUBREAPER}, 1, 0, 0, 0) == 0 or die "prctl: $!";
    my $child = fork // die "fork: $!";
    if ($child == 0) { exec { $ARGV[0] } @ARGV or die "exec: $!" }
    my $status = 0;
    while ((my $ended = wait) != -1) { $status = $? if $ended == $child }
    exit($status == 0 ? 0 : 1);`;
  return ['perl', '-e', program, ...argv];
}
