/** A line built to make the classifier work without end. It is judged as one that cannot be parsed. */
export class WorkLimitError extends Error {}
