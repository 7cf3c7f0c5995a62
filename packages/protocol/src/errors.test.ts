import { describe, expect, it, vi } from 'vitest';
import { CaissonError, toErrorInfo } from './errors.ts';

vi.resetModules();
const copy = await import('./errors.ts');

class OwnError extends CaissonError {
  readonly code = 'OWN';
}

class OtherError extends copy.CaissonError {
  readonly code = 'OTHER';
  override readonly retryable = true;
}

describe('an error of Caisson', () => {
  it('is one also if another copy of the class made it', () => {
    expect(copy.CaissonError).not.toBe(CaissonError);
    const error = new OtherError('it failed', { remedy: 'Try again.' });
    expect(error).toBeInstanceOf(CaissonError);
    expect(toErrorInfo(error)).toEqual({
      ...{ code: 'OTHER', message: 'it failed' },
      ...{ retryable: true, remedy: 'Try again.' },
    });
  });

  it('is of its own class only', () => {
    expect(new OwnError('it failed')).toBeInstanceOf(OwnError);
    expect(new OtherError('it failed')).not.toBeInstanceOf(OwnError);
    expect(new Error('it failed')).not.toBeInstanceOf(CaissonError);
    expect({ code: 'OWN' }).not.toBeInstanceOf(CaissonError);
  });
});
