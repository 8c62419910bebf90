/** Toasts: short messages about what an action did. */

import { type ReactNode, useEffect, useRef } from 'react';
import { errorText, hintOf } from '../api.ts';
import { jobs } from '../live/jobs.ts';
import { Signal, useSignal } from '../live/signal.ts';
import { Button } from './buttons.tsx';
import { StateGlyph } from './icon.tsx';
import { Jobs } from './jobs.tsx';

interface Toast {
  readonly id: number;
  readonly tone: 'completed' | 'failed';
  readonly content: ReactNode;
}

const toasts = new Signal<readonly Toast[]>([]);
let next = 1;

function show(tone: Toast['tone'], content: ReactNode, ms: number): void {
  const id = next++;
  toasts.update((all) => [...all.slice(-3), { id, tone, content }]);
  setTimeout(() => dismiss(id), ms);
}

const dismiss = (id: number): void => toasts.update((all) => all.filter((toast) => toast.id !== id));

export function showDone(content: ReactNode): void {
  show('completed', content, 5_000);
}

export function showError(error: unknown): void {
  const hint = hintOf(error);
  show(
    'failed',
    <>
      <p className="strong">{errorText(error)}</p>
      {hint && <p className="ink-2">{hint}</p>}
    </>,
    10_000,
  );
}

/** Runs an action and shows a toast about its success or its error. */
export function runAction(act: () => Promise<unknown>, words?: ReactNode): void {
  act().then(() => words !== undefined && showDone(words), showError);
}

export function Toasts() {
  const all = useSignal(toasts);
  const work = useSignal(jobs);
  const box = useRef<HTMLDivElement>(null);
  // Shown again with each toast, so that it lies above a drawer that was opened meanwhile.
  const marks = `${all.at(-1)?.id} ${work.length}`;
  useEffect(() => {
    if (marks === '') return;
    box.current?.hidePopover?.();
    box.current?.showPopover?.();
  }, [marks]);
  return (
    <div className="toasts" popover="manual" ref={box}>
      <Jobs />
      <div role="status" aria-live="polite" className="stack tight">
        {all.map(({ id, tone, content }) => (
          <div key={id} className={`toast s-${tone}`}>
            <StateGlyph state={tone} />
            <div className="grow break">{content}</div>
            <Button kind="plain" small icon="close" aria-label="Dismiss" onClick={() => dismiss(id)} />
          </div>
        ))}
      </div>
    </div>
  );
}
