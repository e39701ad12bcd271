"""The workbook and the alerts: queries in files of their own, composed into what Azure reads."""
