/** The person's side of `caisson top`: screen, keys and signals. */
import type { Caisson } from '@caisson/engine';
import { CANCEL_OUTCOMES } from '../format-cancel.ts';
import type { FullScreen } from '../full-screen.ts';
import type { Output } from '../output.ts';
import { Painted, render, type Line, type Lines } from '../painted.ts';
import { onStopSignals } from '../stop-signals.ts';
import { drawTop } from './draw-top.ts';
import type { Key } from './parse-keys.ts';
import { pressKey, type Order } from './press-key.ts';
import { readKeys, type Keyboard } from './read-keys.ts';
import { tailRun, type Tail } from './tail-run.ts';
import { takeCall, takeData, type Question, type RunPage, type TopData, type TopState } from './top-state.ts';

const REDRAW_MS = 500;
/** What would end the process at once otherwise, and leave its screen; those that ask it to stop are in stop-signals.ts. */
const DEADLY = ['SIGQUIT', 'SIGABRT', 'SIGALRM', 'SIGUSR2', 'SIGXCPU', 'SIGVTALRM'] as const;

const OPENED_AGAIN = 'The project is being opened again. Try it in a moment.';
/** Of a call, in a message of one line. */
const MAX_SAID = 500;

export class TopScreen {
  #state: TopState;
  readonly #output: Output;
  readonly #ending = new AbortController();
  readonly #offSignals: () => void;
  readonly #end = (): void => this.#ending.abort();
  #screen: FullScreen | null = null;
  #keyboard: Keyboard | null = null;
  #caisson: Caisson | null = null;
  #tail: (Tail & { readonly of: string }) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #drawnMs = -Infinity;

  constructor(first: TopState, output: Output) {
    this.#state = first;
    this.#output = output;
    this.#offSignals = onStopSignals(this.#end);
    for (const signal of DEADLY) process.on(signal, this.#end);
    output.closed.addEventListener('abort', this.#end);
  }

  get ended(): AbortSignal {
    return this.#ending.signal;
  }

  get isOpen(): boolean {
    return this.#screen !== null;
  }

  /** Its notes become the message of the screen (WT3). */
  quietOutput(): Output {
    const { note } = this.#output;
    return { ...this.#output, note: (text) => (this.isOpen ? this.say(textOf(text)) : note(text)) };
  }

  say(message: string): void {
    this.#state = { ...this.#state, message };
    this.redraw();
  }

  /** The screen opens with the first data. */
  show(data: TopData): void {
    this.#state = takeData(this.#state, data);
    if (!this.isOpen && !this.ended.aborted) this.#open();
    this.redraw();
  }

  /** Soon, and not more often than WT1 says. */
  redraw(): void {
    this.#timer ??= setTimeout(
      () => this.#draw(),
      Math.max(0, this.#drawnMs + REDRAW_MS - performance.now()),
    );
  }

  /** Orders and open pages go to this one for as long as the work lasts. */
  async use(caisson: Caisson, work: () => Promise<void>): Promise<void> {
    this.#caisson = caisson;
    this.#followPage();
    try {
      await work();
    } finally {
      this.#caisson = null;
      this.#stopTail();
    }
  }

  async pause(ms: number): Promise<void> {
    const { ended } = this;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      ended.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  close(): void {
    this.#offSignals();
    for (const signal of DEADLY) process.off(signal, this.#end);
    process.off('SIGCONT', this.#resume).off('SIGTSTP', this.#suspend);
    clearTimeout(this.#timer ?? undefined);
    this.#screen?.close();
    this.#keyboard?.stop();
  }

  #open(): void {
    this.#screen = this.#output.openScreen(() => this.#draw());
    this.#keyboard = readKeys((key) => this.#press(key), this.#end);
    process.on('SIGCONT', this.#resume).on('SIGTSTP', this.#suspend);
  }

  #draw(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    this.#drawnMs = performance.now();
    if (this.#screen === null) return;
    const tail = this.#tail?.lines() ?? [];
    const view = { size: this.#screen.size(), style: this.#output.style, now: Date.now(), tail };
    this.#screen.draw(drawTop(this.#state, view));
  }

  #press(key: Key): void {
    if (this.#screen === null || this.ended.aborted) return;
    const context = {
      nowMs: performance.now(),
      size: this.#screen.size(),
      tailLines: this.#tail?.lines().length ?? 0,
    };
    const { state, order } = pressKey(this.#state, key, context);
    this.#state = state;
    if (order !== undefined) this.#obey(order);
    this.#followPage();
    this.#draw();
  }

  #obey(order: Order): void {
    switch (order.kind) {
      case 'quit':
        return this.#end();
      case 'repaint':
        return this.#screen?.forget();
      case 'suspend':
        return this.#suspend();
      case 'read-call':
        return void this.#readCall(order.approvalId).catch((error: unknown) => this.say(messageOf(error)));
      case 'carry-out':
        this.#carryOut(order.question).then(
          (message) => this.say(message),
          (error: unknown) => this.say(messageOf(error)),
        );
    }
  }

  /** By ctrl-z, which a raw terminal does not turn into a signal, and by the signal itself: the shell gets its terminal back. */
  readonly #suspend = (): void => {
    this.#screen?.close();
    this.#keyboard?.release();
    process.off('SIGTSTP', this.#suspend);
    process.kill(process.pid, 'SIGTSTP');
    // Runs once it goes on; at once where nobody could continue it, because then the signal does nothing.
    setTimeout(this.#resume, 0);
  };

  /** A shell that stopped us has had the terminal meanwhile. */
  readonly #resume = (): void => {
    if (this.ended.aborted) return;
    process.off('SIGTSTP', this.#suspend).on('SIGTSTP', this.#suspend);
    this.#screen?.close();
    this.#screen = this.#output.openScreen(() => this.#draw());
    this.#keyboard?.take();
    this.#draw();
  };

  async #readCall(approvalId: string): Promise<void> {
    if (this.#caisson === null) return this.say(OPENED_AGAIN);
    const { call, what } = await this.#caisson.approval(approvalId);
    const text = call?.text ?? `${what}\n\nThis is all that was recorded of it.`;
    this.#state = takeCall(this.#state, approvalId, text, performance.now());
    this.redraw();
  }

  async #carryOut(question: Question): Promise<string> {
    const caisson = this.#caisson;
    if (caisson === null) return OPENED_AGAIN;
    if (question.kind === 'cancel')
      return `${question.runId} ${CANCEL_OUTCOMES[await caisson.cancel(question.runId)]}`;
    await caisson.decide(question.approvalId, question.kind);
    return `${question.kind === 'allow' ? 'Allowed' : 'Denied'}: ${question.text.slice(0, MAX_SAID)}`;
  }

  /** The tail of the run whose page is open, and none without one. */
  #followPage(): void {
    const { page } = this.#state;
    const shown = page.kind === 'confirm' ? page.back : page;
    if (shown.kind !== 'run' || this.#caisson === null) return this.#stopTail();
    const of = `${shown.runId} ${shown.tail}`;
    if (this.#tail?.of === of) return;
    this.#stopTail();
    this.#tail = { ...this.#startTail(this.#caisson, shown), of };
  }

  #startTail(caisson: Caisson, { runId, tail }: RunPage): Tail {
    return tailRun(caisson, runId, tail, {
      style: this.#output.style,
      columns: this.#output.columns,
      onChange: () => this.redraw(),
      onError: (error) => this.say(messageOf(error)),
    });
  }

  #stopTail(): void {
    this.#tail?.stop();
    this.#tail = null;
  }
}

function textOf(text: Line | Lines): string {
  const lines: Lines = typeof text === 'string' || text instanceof Painted ? [text] : text;
  return lines.map((each) => render(each, false)).join(' ');
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
