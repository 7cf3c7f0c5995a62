import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { ConfirmButton } from '../ui/confirm-button.tsx';
import { ProblemNotice } from '../ui/notices.tsx';

export interface Deed {
  /** Of the operation. */
  readonly path: string;
  /** What is asked before it; a deed that ends or disturbs nothing is done at once. */
  readonly confirm?: string;
}

interface DeedButtonsProps {
  /** Label → what it does. */
  readonly deeds: Readonly<Record<string, Deed>>;
  readonly of: string;
  onChanged(): void;
}

export function DeedButtons({ deeds, of, onChanged }: DeedButtonsProps) {
  const { client } = useApp();
  const action = useAction();
  const press = (path: string) => void action.run(() => client.send('POST', path)).then(onChanged);
  return (
    <>
      <div className="actions">
        {Object.entries(deeds).map(([label, { path, confirm }]) => (
          <ConfirmButton
            key={label}
            label={label}
            of={of}
            confirm={confirm}
            isDisabled={action.isBusy}
            onConfirm={() => press(path)}
          />
        ))}
      </div>
      <ProblemNotice problem={action.problem} onClose={action.clear} />
    </>
  );
}
