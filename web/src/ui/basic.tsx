import {
  type ButtonHTMLAttributes,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { hintOf, sayError } from '../api.ts';
import { linesOf } from '../model/histogram.ts';
import { clockTime, duration, exactTime, relativeTime } from '../model/time.ts';
import { hasMoved } from '../router.tsx';
import { Icon, type IconName, StateGlyph } from './icon.tsx';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: 'primary' | 'plain' | 'danger' | 'danger primary' | undefined;
  readonly icon?: IconName | undefined;
  readonly small?: boolean | undefined;
  /** Something is on its way: it cannot be pressed twice. */
  readonly busy?: boolean | undefined;
}

export function Button({
  kind,
  icon,
  small,
  busy,
  children,
  className = '',
  disabled,
  type = 'button',
  ...rest
}: ButtonProps) {
  const bare = children === undefined;
  return (
    <button
      type={type}
      className={`button ${kind ?? ''} ${small ? 'small' : ''} ${bare ? 'icon' : ''} ${className}`}
      disabled={disabled || busy}
      aria-busy={busy}
      {...rest}
    >
      {icon && <Icon name={icon} size={14} />}
      {children}
    </button>
  );
}

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

// One clock for the page: a text that says how long ago something was is drawn again only when it reads differently.
const tickers = new Set<() => void>();
setInterval(() => {
  if (!document.hidden) for (const tick of tickers) tick();
}, 1000);
const onTick = (tick: () => void): (() => void) => {
  tickers.add(tick);
  return () => tickers.delete(tick);
};

/** A text that depends on now. */
export function useTicking<T extends string | number>(make: (now: number) => T): T {
  return useSyncExternalStore(onTick, () => make(Date.now()));
}

/** Relative, with the exact time when somebody asks. */
export function Time({ at, clock = false }: { readonly at: number; readonly clock?: boolean }) {
  const text = useTicking((now) => (clock ? clockTime(at) : relativeTime(at, now)));
  return (
    <time dateTime={isoOf(at)} title={exactTime(at)}>
      {text}
    </time>
  );
}

function isoOf(at: number): string | undefined {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** How long something took, or takes until now. */
export function Lasting({ from, until }: { readonly from: number; readonly until?: number | undefined }) {
  const text = useTicking((now) => duration(Math.max(0, (until ?? Math.floor(now / 1000) * 1000) - from)));
  return <span title={`${exactTime(from)} – ${until === undefined ? 'now' : exactTime(until)}`}>{text}</span>;
}

/** A time that comes nearer, and what it says when it has come. */
export function Countdown({ to, over = 'due' }: { readonly to: number; readonly over?: string }) {
  const text = useTicking((now) => (to <= now ? over : duration(Math.ceil((to - now) / 1000) * 1000)));
  return <span title={exactTime(to)}>{text}</span>;
}

export function useCopy(): readonly [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return [
    copied,
    (text) => {
      void copyText(text).then((worked) => {
        setCopied(worked);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => setCopied(false), 1500);
      });
    },
  ];
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without https the clipboard is closed: the old way is still open.
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'sr';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [copied, copy] = useCopy();
  return (
    <Button
      kind="plain"
      small
      icon={copied ? 'check' : 'copy'}
      aria-label={copied ? 'Copied' : label}
      title={label}
      onClick={() => copy(text)}
    />
  );
}

/** A command that somebody can take along. */
export function Command({ text }: { readonly text: string }) {
  return (
    <div className="command">
      {/* Keyboards must be able to scroll what is too long. */}
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} label="Copy the command" />
    </div>
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
  // Shown only if it takes a moment: what comes at once should not flash.
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
        <p className="strong">{sayError(error)}</p>
        {hint && <p className="ink-2">{hint}</p>}
      </Notice>
    </div>
  );
}

/** What has come, or that it comes, or why it does not. */
export function Awaited<T>({
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

export function Meter({
  value,
  max,
  label,
  tone = '',
}: {
  readonly value: number;
  readonly max: number;
  readonly label: string;
  readonly tone?: string;
}) {
  const part = max <= 0 ? 0 : Math.min(1, value / max);
  return (
    <div
      className={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={0}
      aria-valuemax={Math.max(max, value)}
    >
      <i style={{ width: `${part * 100}%` }} />
    </div>
  );
}

export function Sparkline({
  values,
  label,
  state = 'running',
  wide = false,
}: {
  readonly values: readonly (number | null)[];
  readonly label: string;
  readonly state?: string;
  /** As wide as there is room. */
  readonly wide?: boolean;
}) {
  const lines = linesOf(values, 96, 22);
  return (
    <svg
      className={`spark s-${state} ${wide ? 'wide' : ''}`}
      viewBox="0 -1 96 24"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {lines.map((points) => (
        <g key={points}>
          <polygon points={`${points.split(',')[0]},22 ${points} ${points.split(' ').at(-1)?.split(',')[0]},22`} />
          <polyline points={points} />
        </g>
      ))}
    </svg>
  );
}

export function Switch({
  checked,
  label,
  onChange,
  disabled = false,
  hideLabel = false,
}: {
  readonly checked: boolean;
  readonly label: string;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
  readonly hideLabel?: boolean;
}) {
  return (
    <button
      type="button"
      className="switch"
      role="switch"
      aria-checked={checked}
      aria-label={label}
      disabled={disabled}
      onClick={(event) => {
        event.stopPropagation();
        onChange(!checked);
      }}
    >
      <i />
      {!hideLabel && <span>{label}</span>}
    </button>
  );
}

export function Field({
  label,
  hint,
  problem,
  children,
}: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly problem?: string | undefined;
  readonly children: (props: {
    readonly id: string;
    readonly 'aria-describedby': string;
    readonly 'aria-invalid': boolean;
  }) => ReactNode;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-more`, 'aria-invalid': problem !== undefined })}
      <div id={`${id}-more`}>
        {problem !== undefined && <p className="problem">{problem}</p>}
        {hint !== undefined && <div className="hint">{hint}</div>}
      </div>
    </div>
  );
}

export function Segmented<T extends string>({
  options,
  value,
  onChange,
  label,
}: {
  readonly options: readonly { readonly value: T; readonly label: ReactNode }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly label: string;
}) {
  return (
    <div className="segmented" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
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
  // A new page is read out from its title on, whenever its part of the program has come.
  useEffect(() => {
    if (hasMoved()) head.current?.focus({ preventScroll: true });
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
          {count !== undefined && <span className="count">{count}</span>}
          <div className="grow" />
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

/** Tasks have long ids; in a list the end of one is enough to tell it. */
export function shortId(id: string): string {
  return id.length > 20 ? `…${id.slice(-8)}` : id;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}
