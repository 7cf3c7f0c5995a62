/**
 * A command line that cannot be understood, before anything else is loaded. It is reported as a `UsageError`; it is not
 * one itself, because the base class of our errors loads the schemas, and a good command line should not pay for that.
 */
export class LineProblem extends Error {
  readonly remedy: string | undefined;

  constructor(message: string, options: { remedy?: string } = {}) {
    super(message);
    this.remedy = options.remedy;
  }
}
