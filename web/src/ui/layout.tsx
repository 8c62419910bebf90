/** The frame of a screen: page, panel, and a list of names with their values. */

import { type ReactNode, useEffect, useRef } from 'react';
import { hasNavigated } from '../router.tsx';

export function KeyValues({ of }: { readonly of: readonly (readonly [string, ReactNode] | false | undefined)[] }) {
  return (
    <dl className="kv">
      {of.map((pair) =>
        pair ? (
          <div key={pair[0]} style={{ display: 'contents' }}>
            <dt>{pair[0]}</dt>
            <dd>{pair[1]}</dd>
          </div>
        ) : null,
      )}
    </dl>
  );
}

export function Page({
  title,
  about,
  actions,
  children,
  crumb,
}: {
  readonly title: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly crumb?: ReactNode;
}) {
  const head = useRef<HTMLHeadingElement>(null);
  // Screen readers begin at the title of a new page, also when its code arrives late.
  useEffect(() => {
    if (hasNavigated()) head.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div className="page">
      <header className="page-head">
        <div className="titles">
          {crumb}
          <h1 tabIndex={-1} ref={head}>
            {title}
          </h1>
          {about !== undefined && <p>{about}</p>}
        </div>
        {actions !== undefined && <div className="buttons">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Panel({
  title,
  actions,
  children,
  count,
}: {
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly count?: number | undefined;
}) {
  return (
    <section className="panel" aria-label={title}>
      {title !== undefined && (
        <div className="panel-head">
          <h2>{title}</h2>
          {count !== undefined && <span className="count">{count.toLocaleString('en')}</span>}
          <div className="grow" />
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}
