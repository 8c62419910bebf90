export const DUTY_STATEMENTS = {
  dutyGet: 'SELECT holder, epoch, until, cursor FROM duty WHERE name = ?',
  dutyTake: `INSERT INTO duty (name, holder, epoch, until) VALUES (?, ?, 1, ?)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = duty.epoch + 1, until = excluded.until
    WHERE duty.until < ? RETURNING epoch, cursor`,
  // ?1 has [name, epoch, ttl] of each duty: a process renews all of its duties at about the same time.
  dutyRenew: `UPDATE duty SET until = ?2 + (j.value ->> 2) FROM json_each(?1) j
    WHERE duty.name = j.value ->> 0 AND duty.epoch = j.value ->> 1 AND duty.until >= ?2 RETURNING duty.name, duty.epoch`,
  dutyRelease: 'UPDATE duty SET until = 0 WHERE name = ? AND epoch = ?',
  dutyHeld: 'SELECT cursor FROM duty WHERE name = ? AND epoch = ?',
  dutyCursor: 'UPDATE duty SET cursor = ? WHERE name = ? AND epoch = ?',
  dutyList: 'SELECT name, holder, epoch, until FROM duty ORDER BY name',
} as const;
