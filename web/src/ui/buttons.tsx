/** Buttons, and the command line that can be copied. */

import { type ButtonHTMLAttributes, useEffect, useRef, useState } from 'react';
import { Icon, type IconName } from './icon.tsx';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: 'primary' | 'plain' | 'danger' | 'danger primary' | undefined;
  readonly icon?: IconName | undefined;
  readonly small?: boolean | undefined;
  /** The action is under way, and the button cannot be pressed again. */
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
    // Without https the clipboard API is closed; the older command still works.
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

/** A text that is long to make is given as a function, which runs when the button is pressed. */
export function CopyButton({
  text,
  label = 'Copy',
}: {
  readonly text: string | (() => string);
  readonly label?: string;
}) {
  const [copied, copy] = useCopy();
  return (
    <Button
      kind="plain"
      small
      icon={copied ? 'check' : 'copy'}
      aria-label={copied ? 'Copied' : label}
      title={label}
      onClick={() => copy(typeof text === 'string' ? text : text())}
    />
  );
}

/** A command line with a button that copies it. */
export function Command({ text }: { readonly text: string }) {
  return (
    <div className="command">
      {/* Keyboards must be able to scroll what is too long. */}
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} label="Copy the command" />
    </div>
  );
}
