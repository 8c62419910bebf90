# Each line has a price.
! grep -v '[0-9]$' prices.txt
