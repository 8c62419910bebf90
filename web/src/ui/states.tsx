/** A state as glyph and word, and notices: empty, loading, error. */

import { type ReactNode, useEffect, useState } from 'react';
import { errorText, hintOf } from '../api.ts';
import { Button } from './buttons.tsx';
import { Icon, type IconName, StateGlyph } from './icon.tsx';

export function State({
  state,
  why,
  label,
}: {
  readonly state: string;
  readonly why?: string | undefined;
  readonly label?: string;
}) {
  return (
    <span className={`state s-${state}`}>
      <StateGlyph state={state} />
      <span>{label ?? state}</span>
      {why !== undefined && <span className="why cut">{why.replaceAll('_', ' ')}</span>}
    </span>
  );
}

export function Empty({
  icon = 'info',
  title,
  children,
}: {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading({ rows = 5, label = 'Loading' }: { readonly rows?: number; readonly label?: string }) {
  // Shown only after a moment, so that a quick answer does not flash.
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 180);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="panel-body stack" role="status" aria-label={label}>
      {shown &&
        Array.from({ length: rows }, (_, i) => (
          <span key={i} className="skeleton" style={{ width: `${90 - ((i * 37) % 45)}%` }} />
        ))}
    </div>
  );
}

export function Notice({
  tone = 'attention',
  children,
  action,
}: {
  readonly tone?: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
}) {
  return (
    <div className={`notice s-${tone}`}>
      <StateGlyph state={tone} />
      <div>{children}</div>
      {action}
    </div>
  );
}

export function ErrorNote({ error, retry }: { readonly error: unknown; readonly retry?: (() => void) | undefined }) {
  const hint = hintOf(error);
  return (
    <div role="alert">
      <Notice
        tone="failed"
        action={
          retry && (
            <Button small onClick={retry}>
              Try again
            </Button>
          )
        }
      >
        <p className="strong">{errorText(error)}</p>
        {hint && <p className="ink-2">{hint}</p>}
      </Notice>
    </div>
  );
}

/** Shows the data of a resource, or that it is loading, or its error. */
export function WhenLoaded<T>({
  of,
  children,
  rows,
}: {
  readonly of: { readonly data: T | undefined; readonly error: unknown; readonly refresh: () => void };
  readonly children: (data: T) => ReactNode;
  readonly rows?: number;
}) {
  if (of.data !== undefined) return children(of.data);
  if (of.error !== undefined) return <ErrorNote error={of.error} retry={of.refresh} />;
  return <Loading {...(rows === undefined ? {} : { rows })} />;
}
