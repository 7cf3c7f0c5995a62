import { useEffect, useRef } from 'react';

interface ChoiceBoxProps {
  readonly state: 'none' | 'some' | 'all';
  readonly label: string;
  onToggle(): void;
}

/** A checkbox with a third state: a part is chosen. */
export function ChoiceBox({ state, label, onToggle }: ChoiceBoxProps) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current !== null) box.current.indeterminate = state === 'some';
  }, [state]);
  return <input ref={box} type="checkbox" checked={state === 'all'} aria-label={label} onChange={onToggle} />;
}
