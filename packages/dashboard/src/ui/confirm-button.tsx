import { useEffect, useState } from 'react';

const CONFIRM_MS = 4000;

interface ConfirmButtonProps {
  readonly label: string;
  /** The question; without one it is done at once. */
  readonly confirm: string | undefined;
  /** What it is done to, for those who do not see the row. */
  readonly of?: string;
  readonly isDisabled?: boolean;
  onConfirm(): void;
}

/** Asks once more in its own place; the question goes away by itself. */
export function ConfirmButton({ label, confirm, of, isDisabled = false, onConfirm }: ConfirmButtonProps) {
  const [isAsking, setIsAsking] = useState(false);
  useEffect(() => {
    if (!isAsking) return undefined;
    const timer = setTimeout(() => setIsAsking(false), CONFIRM_MS);
    return () => clearTimeout(timer);
  }, [isAsking]);
  const press = () => {
    if (isAsking || confirm === undefined) onConfirm();
    setIsAsking(!isAsking && confirm !== undefined);
  };
  const words = isAsking ? confirm : label;
  return (
    <button
      type="button"
      className={isAsking ? 'danger' : ''}
      disabled={isDisabled}
      aria-label={of === undefined ? undefined : `${words} ${of}`}
      onClick={press}
    >
      {words}
    </button>
  );
}
