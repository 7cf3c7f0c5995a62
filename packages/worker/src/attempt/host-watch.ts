/** A second check behind the control pipe: tests every two seconds whether the host's process still exists. */
export function watchHost(parentPid: number, onLost: () => void): () => void {
  const timer = setInterval(() => {
    if (!isAlive(parentPid)) onLost();
  }, 2000);
  timer.unref();
  return () => clearInterval(timer);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
