import { probeSandbox } from '@caisson/ground';

/** What stands between this machine and a sandbox, in the words of admission; null when nothing does. */
export async function probeSandboxHere(): Promise<{ detail: string; remedy: string } | null> {
  const probe = await probeSandbox();
  if (probe.ok) return null;
  return {
    detail: `no sandbox is possible here: ${probe.reason ?? 'unknown'}`,
    remedy: `${probe.remedy ?? 'See caisson doctor.'} To run without one, say so: --sandbox none.`,
  };
}
