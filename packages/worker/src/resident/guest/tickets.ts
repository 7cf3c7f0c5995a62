/**
 * Which compute of a thread has begun. The thread has the next one before the present one is over, so that it begins at once;
 * until then the main thread can withdraw it. Computes are numbered, and each number is taken once and in order, by the one
 * that begins the compute or by the one that withdraws it.
 */

/** The number that was taken last, in memory that both threads share. */
export type TicketMemory = Int32Array<SharedArrayBuffer>;

export interface Tickets {
  readonly memory: TicketMemory;
  /** For the next compute that the thread gets. */
  issue(): number;
  isTaken(number: number): boolean;
}

export function createTickets(): Tickets {
  const memory = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  let issued = 0;
  return {
    memory,
    issue: () => (issued += 1),
    isTaken: (number) => Atomics.load(memory, 0) >= number,
  };
}

/** Whether this compute is the caller's now. */
export function takeTicket(memory: TicketMemory, number: number): boolean {
  return Atomics.compareExchange(memory, 0, number - 1, number) === number - 1;
}
