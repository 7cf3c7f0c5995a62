/** Sizes of what residents say; without schemas, for the program inside the sandbox. */

/** The longest order. */
export const MAX_ORDER_BYTES = 8 * 1024 * 1024;
/** The largest JSON of a signal's payload, a thread's message or the value of a step. */
export const MAX_PAYLOAD_BYTES = 64 * 1024;
/** The largest JSON of what a role asks for in one step. */
export const MAX_REQUEST_BYTES = 256 * 1024;
/** What a turn begins with: payload and messages of its thread, and the steps of the present round. Their requests count, too. */
export const MAX_HISTORY_BYTES = 2 * 1024 * 1024;
/** What is recorded of the steps of one thread, in all its rounds. */
export const MAX_THREAD_BYTES = 32 * 1024 * 1024;
/** Of one thread, at the same time. */
export const MAX_OPEN_QUESTIONS = 64;
/** Senses of one group. */
export const MAX_MODULES = 256;
/** Of the name of a sense, workflow, role or step. */
export const MAX_NAME_CHARACTERS = 128;
export const MAX_QUESTION_CHARACTERS = 16_384;
export const MAX_OPTIONS = 64;
export const MAX_OPTION_CHARACTERS = 1024;
/** Of one `wait`. */
export const MAX_AWAITED_RUNS = 64;
/** Signals of one compute. */
export const MAX_SIGNALS = 64;
/** Computes of one sense whose signals wait to be recorded: a host that records nothing stops its senses before. */
export const MAX_UNDELIVERED = 256;
/** Of what they emitted, as JSON, when the file is loaded; what is more is reported when it is loaded the next time. */
export const MAX_UNDELIVERED_BYTES = 16 * 1024 * 1024;
/** Computes that one compute covers. */
export const MAX_COVERED = 1000;
export const MAX_LOG_CHARACTERS = 4096;

/** Folders in which no change of a file is noticed. */
export const UNWATCHED_FOLDERS: readonly string[] = ['.git', '.caisson', 'node_modules'];

/** Where the group's own folder is, inside; `CAISSON_STATE` says so to the user's code. */
export const STATE_INSIDE = '/run/caisson/state';
