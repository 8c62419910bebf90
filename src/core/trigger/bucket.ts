/** So many at once, and so many a second after that. */
export interface Pace {
  readonly burst: number;
  readonly perSecond: number;
}

/** What is left of a pace, in times. */
export interface Bucket {
  left: number;
  at: number;
}

export function fullBucket({ burst }: Pace, now: number): Bucket {
  return { left: burst, at: now };
}

/** Takes one, and answers 0; or takes nothing, and answers how long until there is one. A clock that steps back fills nothing. */
export function takeFrom(bucket: Bucket, { burst, perSecond }: Pace, now: number): number {
  bucket.left = Math.min(burst, bucket.left + (Math.max(0, now - bucket.at) / 1000) * perSecond);
  bucket.at = now;
  if (bucket.left < 1) return Math.ceil(((1 - bucket.left) / perSecond) * 1000);
  bucket.left -= 1;
  return 0;
}
