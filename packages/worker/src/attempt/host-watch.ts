/** A second check behind the control stream: tests every two seconds whether the host's process still exists. */
export interface HostWatch {
  /** Another process is the host now. */
  turnTo(hostPid: number): void;
  stop(): void;
}

export function watchHost(parentPid: number | null, onLost: () => void): HostWatch {
  let hostPid = parentPid;
  const timer = setInterval(() => {
    if (hostPid === null || isAlive(hostPid)) return;
    hostPid = null;
    onLost();
  }, 2000);
  timer.unref();
  return { turnTo: (pid) => void (hostPid = pid), stop: () => clearInterval(timer) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
