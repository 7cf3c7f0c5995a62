/**
 * A command line that cannot be understood, before anything else is loaded. It is told as a `UsageError`; it is not one
 * itself, because the base class of our errors brings the schemas with it, and a good command line should not pay for
 * a bad one.
 */
export class LineProblem extends Error {
  readonly remedy: string | undefined;

  constructor(message: string, options: { remedy?: string } = {}) {
    super(message);
    this.remedy = options.remedy;
  }
}
