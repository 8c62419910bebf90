/** A button that opens a menu. Arrow keys move through it, Escape closes it. */

import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from './buttons.tsx';
import type { IconName } from './icon.tsx';

export function Menu({
  label,
  icon,
  children,
  start = false,
  text,
  small = false,
  kind,
}: {
  readonly label: string;
  readonly icon?: IconName;
  readonly text?: ReactNode;
  readonly children: (close: () => void) => ReactNode;
  readonly start?: boolean;
  readonly small?: boolean;
  readonly kind?: 'plain';
}) {
  const [open, setOpen] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event): void => {
      if (!ref.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    ref.current?.querySelector<HTMLElement>('.menu .menu-item, .menu input')?.focus();
    return () => document.removeEventListener('pointerdown', outside);
  }, [open]);
  const close = (): void => {
    setOpen(false);
    ref.current?.querySelector('button')?.focus();
  };
  return (
    <div
      className="menu-wrap"
      ref={ref}
      onKeyDown={(event) => {
        if (!open) return;
        if (event.key === 'Escape') {
          event.stopPropagation();
          close();
        }
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
          event.preventDefault();
          const items = [...(ref.current?.querySelectorAll<HTMLElement>('.menu-item') ?? [])];
          const at = items.indexOf(document.activeElement as HTMLElement);
          items.at((at + (event.key === 'ArrowDown' ? 1 : -1) + items.length) % items.length)?.focus();
        }
      }}
    >
      <Button
        icon={icon}
        small={small}
        kind={kind}
        aria-label={text === undefined ? label : undefined}
        title={label}
        aria-expanded={open}
        aria-haspopup="true"
        onClick={() => setOpen(!open)}
      >
        {text}
      </Button>
      {open && <div className={`menu ${start ? 'start' : ''}`}>{children(close)}</div>}
    </div>
  );
}
