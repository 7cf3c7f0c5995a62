import { useEffect, useState } from 'react';

const CONFIRM_MS = 4000;

interface ConfirmButtonProps {
  readonly label: string;
  readonly confirm: string;
  readonly isDisabled?: boolean;
  onConfirm(): void;
}

/** Asks once more in its own place; the question goes away by itself. */
export function ConfirmButton({ label, confirm, isDisabled = false, onConfirm }: ConfirmButtonProps) {
  const [isAsking, setIsAsking] = useState(false);
  useEffect(() => {
    if (!isAsking) return undefined;
    const timer = setTimeout(() => setIsAsking(false), CONFIRM_MS);
    return () => clearTimeout(timer);
  }, [isAsking]);
  const press = () => {
    if (isAsking) onConfirm();
    setIsAsking(!isAsking);
  };
  return (
    <button type="button" className={isAsking ? 'danger' : ''} disabled={isDisabled} onClick={press}>
      {isAsking ? confirm : label}
    </button>
  );
}
